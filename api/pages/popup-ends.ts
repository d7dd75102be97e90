import { own } from '#domain/foundation/kernel/own.ts';
import type { AttemptFailure } from '#domain/capabilities/connections/connection-status.ts';

const texts: Partial<Record<AttemptFailure, string>> = {
  cancelled: 'You have cancelled.',
  denied: 'Access was denied at the sign-in.',
  issuer_mismatch: 'Another sign-in server has answered than the one that was asked.',
  provider_unavailable: 'The sign-in server is not available at the moment.',
  provider_error: 'The sign-in server has reported an error.',
  client_rejected: 'The sign-in server does not know this platform any more.',
  scope_rejected: 'The sign-in server does not offer the permissions that were asked for.',
  protocol_error: 'The sign-in server gave an answer that cannot be used.',
};

/** What the person reads; a reason that is not of the list says nothing of its own. */
export function textOf(reason: string): string {
  return own(texts, reason) ?? 'The account was not connected.';
}

/** The page in place of an error body, by the error's code. */
export function refusalText(code: string): { title: string; text: string } {
  switch (code) {
    case 'rate_limited':
      return {
        title: 'Too many attempts',
        text: 'Too many sign-ins came from this network. Wait a minute, and load this page again.',
      };
    case 'tenant_suspended':
    case 'tenant_deleting':
      return {
        title: 'Not available',
        text: 'Your organization cannot use this platform at the moment. Nothing was connected.',
      };
    case 'authorization_attempt_not_found':
    case 'invalid_request':
      return {
        title: 'This attempt is over',
        text: 'It was used before, began in another browser, or took longer than ten minutes. Close this window and begin again in your application, which shows whether the account is connected.',
      };
    default:
      return {
        title: 'Something went wrong',
        text: 'The platform could not answer. Load this page again, or close this window and begin again.',
      };
  }
}
