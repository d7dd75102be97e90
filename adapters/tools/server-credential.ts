import { ToolServerFailure, type ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import { own } from '#domain/foundation/kernel/own.ts';

/**
 * The header that carries a server's credential. The value is a variable of the environment that the operator
 * bound to one origin: whoever may connect servers cannot send it anywhere else. `NAME@origin#space_id` lets one
 * space use it, `NAME@origin` every space of every tenant.
 * @throws ToolServerFailure `credential_missing`
 */
export function serverCredential(
  server: ToolServerSpec,
  options: { credentials: readonly string[]; env: Record<string, string | undefined> },
): Record<string, string> {
  const { credentialRef: ref, credentialHeader: header } = server;
  if (ref === null) {
    return {};
  }
  const usable = options.credentials.some((entry) => {
    const [name = '', ...origin] = entry.split('@');
    const bound = URL.parse(origin.join('@'));
    return (
      name === ref &&
      bound?.origin === new URL(server.url).origin &&
      (bound.hash === '' || bound.hash === `#${server.spaceId}`)
    );
  });
  const value = usable ? own(options.env, ref) : undefined;
  if (value === undefined || value === '') {
    throw new ToolServerFailure('credential_missing', { sent: false });
  }
  return header === null || header.toLowerCase() === 'authorization'
    ? { Authorization: `Bearer ${value}` }
    : { [header]: value };
}
