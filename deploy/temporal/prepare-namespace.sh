#!/bin/sh
# Makes the namespace with its retention and search attributes; safe to run at every start.
# Where is in TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, how long ended workflows are kept in RETENTION.
set -eu

tries=0
until temporal operator cluster health >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then
    echo "Temporal at $TEMPORAL_ADDRESS does not answer." >&2
    exit 1
  fi
  sleep 1
done

if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# A namespace that was just made is known to every part of the server a moment later.
tries=0
until temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
  --name TenantId --type Keyword --name SpaceId --type Keyword; do
  tries=$((tries + 1))
  if [ "$tries" -ge 30 ]; then
    echo 'The search attributes cannot be made.' >&2
    exit 1
  fi
  sleep 1
done
