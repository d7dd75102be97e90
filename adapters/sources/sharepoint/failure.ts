import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';
import { Forbidden } from '../shared/http-failure.ts';
import { refusal } from './wire.ts';

const maxPauseMs = 3_600_000;
/** Refusals of the token, whatever was asked for. */
const tokenCodes = new Set(['InvalidAuthenticationToken', 'insufficient_claims']);

/** HTTP 403 for what was asked for, which need not be one for everything. */
export class AccessDenied extends Forbidden {
  constructor() {
    super('Microsoft Graph refuses access with HTTP 403.');
  }
}

/** What statuses mean to Microsoft Graph alone. */
export function graphFailure({ status, headers }: Response, body: unknown): SourceFailure | null {
  switch (status) {
    case 403:
      return isOfToken(headers, body)
        ? new SourceFailure('auth_failed', 'Microsoft Graph does not accept the token.')
        : new AccessDenied();
    case 423:
      return new SourceFailure('source_unreachable', 'A site or a file of SharePoint is locked.');
    case 509:
      return new SourceFailure('rate_limited', 'The bandwidth of the app at Microsoft Graph is spent.', {
        retryAfterMs: retryAfterMs(headers.get('retry-after'), maxPauseMs),
      });
    default:
      return null;
  }
}

function isOfToken(headers: Headers, body: unknown): boolean {
  const { error } = refusal.safeParse(body).data ?? {};
  const codes = [error?.code, error?.innerError?.code];
  return (
    codes.some((code) => code != null && tokenCodes.has(code)) ||
    headers.get('www-authenticate')?.includes('insufficient_claims') === true
  );
}
