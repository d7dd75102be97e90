import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createPresidio } from '#adapters/governance/presidio.ts';
import { createOidcClient } from '#adapters/identity/oidc-client.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { google } from '#adapters/models/google.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { createTraceExporter } from '#adapters/observability/otlp-exporter.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import type { ModelGateway, ProviderKind } from '#domain/capabilities/models/model-gateway.ts';
import { modelRequest } from './model-request.ts';
import { plainTrace } from './plain-trace.ts';

const at = new Date('2026-11-21T10:00:00.250Z');
const never = new AbortController().signal;

/** Every client of external servers in a process, each with its first request. */
export function outgoingClients(origins: readonly string[], limits?: Partial<AnswerLimits>) {
  const fetch = createGuardedFetch(origins);
  const options = { fetch, ...(limits === undefined ? {} : { limits }) };
  const vendor = { ...options, credential: () => undefined };
  const model = (kind: ProviderKind, gateway: ModelGateway) => async (url: string) => {
    const asked = modelRequest({ providerKind: kind, providerModel: 'hostile', baseUrl: `${url}/v1` });
    const parts = gateway.stream(asked, never)[Symbol.asyncIterator]();
    while ((await parts.next()).done !== true);
  };
  return {
    openai: model('openai', openAi(vendor)),
    anthropic: model('anthropic', anthropic(vendor)),
    google: model('google', google(vendor)),
    openai_compatible: model('openai_compatible', openAiCompatible(vendor)),
    tools: (url: string) =>
      createToolServers({ ...options, credentials: [], env: {} }).discover(
        {
          tenantId: 'tenant',
          spaceId: 'space',
          url: `${url}/mcp`,
          credentialRef: null,
          credentialHeader: null,
        },
        never,
      ),
    names: (url: string) =>
      createPresidio(options).find(url, 'en', ['Who goes there?'], { tenantId: 'tenant', signal: never }),
    'sign-in': (url: string) =>
      createOidcClient(options).authorizationUrl(
        {
          tenantId: 'tenant',
          id: 'provider',
          issuer: url,
          clientId: 'client',
          clientSecret: null,
          signingAlg: 'RS256',
        },
        {
          redirectUri: 'http://127.0.0.1/back',
          state: 'state',
          nonce: 'nonce',
          codeVerifier: 'v'.repeat(43),
        },
      ),
    tokens: (url: string) =>
      createStoredCredentials({
        ...options,
        open: () =>
          Promise.resolve({
            version: 1,
            value: {
              kind: 'oauth2_client',
              client_id: 'client',
              client_secret: 'secret',
              token_url: `${url}/token`,
            },
          }),
      }).read({ tenantId: 'tenant', spaceId: 'space', principalId: 'ada', credentialId: 'credential', url }),
    traces: (url: string) =>
      createTraceExporter({ ...options, defaultBaseUrl: null }).export(
        { baseUrl: url, publicKey: 'pk', secretKey: 'sk', projectId: null },
        plainTrace(at),
        never,
      ),
  };
}

export type OutgoingClient = keyof ReturnType<typeof outgoingClients>;
export const clientNames = Object.keys(outgoingClients([])) as OutgoingClient[];

/** The identification of a refusal, without text of the other server. */
export async function failureOf(asking: Promise<unknown>): Promise<string> {
  try {
    await asking;
    return 'none';
  } catch (error) {
    const { name, code, retryable } = error as Error & { code?: string; retryable?: boolean };
    return [name, code ?? '', retryable === undefined ? '' : retryable ? 'retryable' : 'final']
      .join(' ')
      .trim();
  }
}
