import { ToolServerFailure, type ToolServerSpec } from '#domain/tools/tool-server.ts';

/**
 * The header that carries a server's credential. The value is a variable of the environment that the operator
 * bound to one origin (`NAME@origin`): whoever may connect servers cannot send it anywhere else.
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
  const bound = options.credentials.some((entry) => {
    const [name = '', ...origin] = entry.split('@');
    return name === ref && URL.parse(origin.join('@'))?.origin === new URL(server.url).origin;
  });
  const value = bound ? options.env[ref] : undefined;
  if (value === undefined || value === '') {
    throw new ToolServerFailure('credential_missing', { sent: false });
  }
  return header === null || header.toLowerCase() === 'authorization'
    ? { Authorization: `Bearer ${value}` }
    : { [header]: value };
}
