/**
 * The runtime of the builtin model reports its use to its vendor unless this is set before it is loaded: by look-ups and
 * uploads that no egress rule sees, with files in the home and the temporary folder.
 */
export function disableTelemetry(): void {
  process.env['ORT_DISABLE_TELEMETRY'] = '1';
}
