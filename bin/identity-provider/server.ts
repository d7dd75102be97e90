import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Provider, type Configuration } from 'oidc-provider';
import { instanceHeaders } from '#domain/foundation/kernel/instance-header.ts';
import { MemoryAdapter } from './memory-adapter.ts';
import { loginPage } from './page.ts';
import type { ProviderSettings } from './settings.ts';
import { demoClientId, demoUsers } from '../platform/demo-users.ts';

const maxFormLength = 1_000;

/** The demo's identity provider, on the loopback interface only. @param instanceId see `instanceHeaders` */
export async function serveProvider(settings: ProviderSettings, instanceId?: string): Promise<Server> {
  const provider = new Provider(settings.issuer, configurationOf(settings));
  const handle = provider.callback();
  const server = createServer((request, response) => {
    response.setHeaders(new Map(Object.entries(instanceHeaders(instanceId))));
    const uid = /^\/interaction\/([\w-]+)$/.exec(request.url ?? '')?.[1];
    if (uid === undefined) {
      void handle(request, response);
      return;
    }
    interact(provider, request, response).catch(() => {
      // Expired, or of another browser: no sign-in to continue.
      response.writeHead(400, { 'content-type': 'text/plain' }).end('This sign-in is over. Begin again.\n');
    });
  });
  server.listen(settings.port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Shows the users to choose from, and handles the choice. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    response.end(loginPage(demoUsers));
    return;
  }
  const form = new URLSearchParams((await text(request)).slice(0, maxFormLength));
  const user = demoUsers.find(({ sub }) => sub === form.get('user'));
  if (user === undefined) {
    const error = { error: 'access_denied', error_description: 'Nobody was chosen.' };
    await provider.interactionFinished(request, response, error);
    return;
  }
  const grant = new provider.Grant({ accountId: user.sub, clientId: String(params['client_id']) });
  grant.addOIDCScope('openid profile email');
  const result = {
    login: { accountId: user.sub, remember: false },
    consent: { grantId: await grant.save() },
  };
  await provider.interactionFinished(request, response, result);
}

function configurationOf({ clientSecret, cookieKey, jwk, redirectUris }: ProviderSettings): Configuration {
  return {
    adapter: MemoryAdapter,
    clients: [
      {
        client_id: demoClientId,
        client_secret: clientSecret,
        redirect_uris: redirectUris,
        response_types: ['code'],
        grant_types: ['authorization_code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [jwk] },
    cookies: { keys: [cookieKey] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
    renderError: (ctx, { error }) => {
      ctx.type = 'text/plain';
      ctx.body = `${error}\n`;
    },
    findAccount: (_ctx, sub) => {
      const user = demoUsers.find((one) => one.sub === sub);
      return user === undefined
        ? undefined
        : { accountId: sub, claims: () => ({ ...user, email_verified: true }) };
    },
  };
}
