import type { AuthorizationAttempt } from './authorization-attempt.entity.ts';
import type { AttemptFailure } from './connection-status.ts';

/** Where a popup goes next. */
export interface PopupEnd {
  attemptId: string;
  /** The address is the client's, and this browser has no further part in the attempt. */
  isOver: boolean;
  address: string;
}

/**
 * The client's address with what became of the attempt. It names the server or connector: a client with several popups must not take
 * the end of another one.
 */
export function endAddress(
  attempt: Pick<AuthorizationAttempt, 'redirectUri' | 'serverId' | 'connectorId'>,
  end: { handle: string } | { error: AttemptFailure },
): string {
  const { serverId: server_id, connectorId: connector_id } = attempt;
  const url = new URL(attempt.redirectUri);
  for (const [name, value] of Object.entries({ ...end, server_id, connector_id })) {
    if (value != null) url.searchParams.set(name, value);
  }
  return url.href;
}
