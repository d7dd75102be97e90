import { newId } from '#domain/foundation/kernel/ids.ts';
import { addProvider, type NewProvider } from '#domain/identity/identity-providers/add-provider.ts';
import type { TestDatabase } from './database.ts';
import type { Answer, Sender } from './gateway.ts';
import type { IdentityProviderServer } from './identity-provider.ts';
import { secrets, type World } from './world.ts';

/** The public address of a gateway in tests. */
export const publicUrl = 'https://gateway.example.com';
export const frontend = 'https://app.example.com/signed-in';

export interface RegisteredProvider {
  id: string;
  slug: string;
  clientId: string;
}

let counter = 0;

/** Registers a provider for the world's tenant as the operator does. */
export async function registerProvider(
  database: TestDatabase,
  world: World,
  server: { issuer: string; alg: string },
  settings: Partial<NewProvider> = {},
): Promise<RegisteredProvider> {
  counter += 1;
  const provider = await database.unitOfWork.inTenant(world.tenantId, (em) =>
    addProvider(
      { em, secrets, actor: world.owner },
      {
        id: newId(),
        slug: `idp-${process.pid}-${counter}`,
        displayName: 'People',
        issuer: server.issuer,
        clientId: `client-${counter}`,
        clientSecret: 'upstream-client-secret',
        signingAlg: server.alg as 'ES256',
        extraAudiences: [],
        redirectUris: [frontend],
        provisioning: 'automatic',
        strictRotation: false,
        confirmedBy: null,
        ...settings,
      },
    ),
  );
  return { id: provider.id, slug: provider.slug, clientId: provider.clientId };
}

export interface Started {
  /** The provider's login page. */
  address: string;
  nonce: string;
  state: string;
  /** As a Cookie header has it. */
  cookie: string;
}

export async function startLogin(gateway: Sender, provider: string, query = ''): Promise<Started> {
  const answer = await gateway.send({ method: 'GET', path: `/v1/auth/oidc/${provider}/start${query}` });
  if (answer.status !== 200) {
    throw new Error(`start answered ${answer.status}: ${answer.text}`);
  }
  const address = answer.body.data.redirect_url as string;
  const { searchParams } = new URL(address);
  return {
    address,
    nonce: searchParams.get('nonce')!,
    state: searchParams.get('state')!,
    cookie: cookieOf(answer),
  };
}

export function cookieOf(answer: Answer): string {
  return [answer.headers['set-cookie']].flat()[0]!.split(';')[0]!;
}

/** The browser's request to the callback after the provider's redirect. */
export function callback(gateway: Sender, address: string, cookie: string | null): Promise<Answer> {
  const { pathname, search } = new URL(address);
  return gateway.send({
    method: 'GET',
    path: pathname.replace(/^\/api/, '') + search,
    headers: cookie === null ? {} : { cookie },
  });
}

export function redeem(gateway: Sender, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return gateway.send({ method: 'POST', path: '/v1/auth/oidc/session', body, headers });
}

export function handleOf(answer: Answer): string {
  return new URL(answer.body.redirect_url as string).searchParams.get('session_id')!;
}

export interface SignedIn {
  session_id: string;
  expires_at: string;
  access_token: string;
  refresh_token: string;
}

/** A whole sign-in in a browser: start, provider, callback, handle. */
export async function signIn(
  gateway: Sender,
  server: IdentityProviderServer,
  provider: string,
  sub = 'ada',
): Promise<SignedIn> {
  const started = await startLogin(gateway, provider);
  const back = await callback(gateway, server.authorize(started.address, sub), started.cookie);
  if (back.status !== 200) {
    throw new Error(`callback answered ${back.status}: ${back.text}`);
  }
  const answer = await redeem(gateway, { handle: handleOf(back) }, { cookie: started.cookie });
  if (answer.status !== 200) {
    throw new Error(`session answered ${answer.status}: ${answer.text}`);
  }
  return answer.body as SignedIn;
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export function refresh(gateway: Sender, token: string): Promise<Answer> {
  return gateway.send({ method: 'POST', path: '/v1/refresh', headers: bearer(token) });
}
