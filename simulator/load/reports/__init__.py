"""What a load run has sent: totals, recent rates and a time series."""
