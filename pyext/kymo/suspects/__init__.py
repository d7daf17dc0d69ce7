# SPDX-License-Identifier: Apache-2.0
"""What goes with failing, over many attempts: `kymo suspects`."""
