# SPDX-License-Identifier: Apache-2.0
# The version stands in the package; the C table has a version of its own, which is checked at import.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../__init__.py" PACKAGE_VERSION REGEX "^__version__ = ")
string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*$" "\\1" PACKAGE_VERSION "${PACKAGE_VERSION}")
if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
