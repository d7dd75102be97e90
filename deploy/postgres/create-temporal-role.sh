#!/bin/sh
# Run once by the image, on an empty volume: Temporal gets databases of its own, and owns nothing in the platform's.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --quiet <<'SQL'
\getenv password TEMPORAL_DB_PASSWORD
create role temporal login createdb password :'password';
SQL
