"""Point 7 of the contract: replaying the stream on the state before gives the state after.

Every row change says what its row was and what it is then: two halves of a step (`frame`, `halves`). Rows of a state
before and of one after are halves, too (`states`). Sorted by row and time (`read.engines`), neighbours must agree
(`neighbours`, and `counted` for rows without a handle key): that is the check of old images, the replay and the
comparison in one. `timeline` says which table had which name when, and `outcome` puts what is wrong into words.
"""
