import type { Caller } from '#domain/foundation/access/caller.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import type { MessageRole } from './thread-status.ts';

/**
 * Callers write as `user`. A service account that may change threads can also write other roles: an import.
 * @throws `missing_permission`, `invalid_request`
 */
export function requireSender(caller: Caller, role: MessageRole, param: string): void {
  if (role === 'user') {
    return;
  }
  if (caller.principalType !== 'service_account') {
    throw invalid(param, `Only service accounts may send messages as ${role}.`);
  }
  authorize(caller, 'threads.update');
}
