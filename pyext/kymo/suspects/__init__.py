# SPDX-License-Identifier: Apache-2.0
"""What correlates with failing, over many attempts: `kymo suspects`."""
