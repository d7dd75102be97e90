import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type Provider from 'oidc-provider';
import type { AuthorizationServerOptions } from './authorization-server-options.ts';

/** Sign-in and consent on one page: an account and a choice. */
export async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  { openerPolicy, plainScopes = [] }: AuthorizationServerOptions,
): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  const { client_id: clientId, scope = '', resource } = params as Record<string, string>;
  if (request.method !== 'POST') {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      ...(openerPolicy === undefined ? {} : { 'cross-origin-opener-policy': openerPolicy }),
    });
    response.end(page);
    return;
  }
  const form = new URLSearchParams(await text(request));
  const accountId = form.get('account') ?? 'ada';
  if (form.get('decision') === 'deny') {
    const error = { error: 'access_denied', error_description: 'The account said no.' };
    await provider.interactionFinished(request, response, error);
    return;
  }
  const grant = new provider.Grant({ accountId, clientId: String(clientId) });
  grant.addOIDCScope(['openid offline_access', ...plainScopes].join(' '));
  if (resource !== undefined) {
    const withheld = (form.get('withhold') ?? '').split(' ');
    const allowed = scope.split(' ').filter((each) => !withheld.includes(each));
    grant.addResourceScope(resource, allowed.join(' '));
    grant.rejectResourceScope(resource, withheld.join(' '));
  }
  await provider.interactionFinished(request, response, {
    login: { accountId, remember: false },
    consent: { grantId: await grant.save() },
  });
}

const page = `<!doctype html><html lang="en"><title>Authorization server</title>
<form method="post"><label>Account <input name="account" value="ada"></label>
<button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></form>
</html>`;
