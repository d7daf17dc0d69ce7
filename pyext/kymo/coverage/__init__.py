# SPDX-License-Identifier: Apache-2.0
"""Coverage of recorded runs: what ran and how often, against what could have run."""
