import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';

/** 32 hex digits, constant per response, so that repeated exports are one trace. */
export function traceIdOf(responseId: string): string {
  return sha256(`trace/${responseId}`).slice(0, 32);
}

/** 16 hex digits, constant per part of a response; without parts, of the response itself. */
export function spanIdOf(responseId: string, ...parts: (string | number)[]): string {
  return sha256(['span', responseId, ...parts].join('/')).slice(0, 16);
}
