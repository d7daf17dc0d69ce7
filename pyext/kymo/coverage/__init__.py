# SPDX-License-Identifier: Apache-2.0
"""Coverage of recorded runs: what ran and how often, compared with what could have run."""
