/** Of the Temporal CLI; `temporal/dev-server/go.mod` pins the same one. */
export const TEMPORAL_VERSION = '1.8.2';
