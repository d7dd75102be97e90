#!/bin/sh
# Creates Temporal's two databases and brings their tables to this version; safe to run at every start.
# Where and as whom is in SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

update() {
  temporal-sql-tool --db "$1" create
  temporal-sql-tool --db "$1" setup-schema --version 0.0
  temporal-sql-tool --db "$1" update-schema --schema-name "postgresql/v12/$2"
}

update temporal temporal
update temporal_visibility visibility
