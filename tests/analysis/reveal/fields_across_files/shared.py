"""Options that other files import and change."""

import argparse

opt = argparse.ArgumentParser().parse_args()
