"""The packages of a distribution; setup.cfg has everything else. The folder scenarios/ becomes simulator/scenarios/."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["simulator*"]), "simulator.scenarios"],
    package_dir={"simulator.scenarios": "scenarios"},
)
