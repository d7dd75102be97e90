import { ToolServerFailure, type ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import {
  tokenCredential,
  withConnections,
  type CredentialOptions,
  type SentCredential,
} from './server-credential.ts';

/**
 * Repeats a request once with a refreshed token when the server refused that of a connection before it did anything.
 * Where only a person can help, the failure is `authorization_required`.
 * @throws ToolServerFailure
 */
export async function withRenewal<T>(
  { connection: identity }: ToolServerSpec,
  credential: SentCredential,
  { connections }: CredentialOptions,
  work: (credential: SentCredential) => Promise<T>,
): Promise<T> {
  try {
    return await work(credential);
  } catch (error) {
    const { connection: used } = credential;
    if (!isRefusal(error) || identity === undefined || used === undefined || connections === undefined) {
      throw error;
    }
    const { status, challenge } = error;
    const required = new ToolServerFailure('authorization_required', { sent: false, status, challenge });
    if (challenge?.error === 'insufficient_scope') {
      await connections.needScope(identity, used, challenge.scope);
      throw required;
    }
    const renewed = await withConnections(() => connections.renew(identity, used));
    if (renewed === null) {
      throw required;
    }
    try {
      return await work(tokenCredential(renewed));
    } catch (again) {
      if (!isRefusal(again)) {
        throw again;
      }
      await connections.refuse(identity, renewed);
      throw required;
    }
  }
}

function isRefusal(error: unknown): error is ToolServerFailure {
  return error instanceof ToolServerFailure && error.code === 'unauthorized' && !error.sent;
}
