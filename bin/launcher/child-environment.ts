import { join } from 'node:path';
import type { DataDirectory } from './data-directory.ts';
import type { DemoProvider } from './identity-provider.ts';
import type { Settings } from './settings.ts';
import { NAMESPACE } from './temporal.ts';

/** Handed on from the launcher's environment as they are; everything else of it stays here. */
const HANDED_ON = [
  'PATH',
  'HOME',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'MODEL_CREDENTIALS',
  'TRACING_BASE_URL',
] as const;

const LOCAL_OLLAMA = 'http://127.0.0.1:11434';
const OLLAMA_ANSWERS_WITHIN_MS = 300;

export interface ChildEnvironments {
  /** For the gateway and the worker: no administrator's rights on the database. */
  runtime: NodeJS.ProcessEnv;
  /** For migrations and demo data. */
  admin: NodeJS.ProcessEnv;
}

export interface ChildEnvironmentInput {
  env: NodeJS.ProcessEnv;
  settings: Settings;
  data: Pick<DataDirectory, 'path' | 'masterKey' | 'passwords'>;
  adminUrl: string;
  temporal: { address: string; uiUrl: string | undefined };
  ollamaUrl: string | undefined;
  /** The demo's identity provider. */
  provider: DemoProvider | undefined;
}

export function childEnvironments(input: ChildEnvironmentInput): ChildEnvironments {
  const { env, settings, data, adminUrl, temporal, ollamaUrl, provider } = input;
  const egress = [
    env['EGRESS_ALLOW'],
    ollamaUrl === undefined ? undefined : new URL(ollamaUrl).origin,
    provider?.issuer,
  ];
  const keys = (env['MODEL_CREDENTIALS'] ?? '').split(',').map((entry) => entry.split('@')[0]?.trim() ?? '');
  const handedOn = [...HANDED_ON, ...keys].filter((name) => env[name]);
  const runtime: NodeJS.ProcessEnv = {
    ...Object.fromEntries(handedOn.map((name) => [name, env[name]])),
    DATABASE_URL: withUser(adminUrl, 'app_rt', data.passwords.runtime),
    DATABASE_PURGE_URL: withUser(adminUrl, 'app_purge', data.passwords.purge),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: NAMESPACE,
    MASTER_KEY: data.masterKey,
    ANCHOR_FILE: join(data.path, 'event-anchors.jsonl'),
    HOST: '127.0.0.1',
    PORT: String(settings.ports.gateway),
    WORKER_PORT: String(settings.ports.worker),
    LOG_LEVEL: settings.logLevel,
    EXIT_WITH_PARENT: '1',
    PUBLIC_URL: gatewayUrl(settings),
    ...(provider === undefined ? {} : { DEMO_PAGES: '1' }),
    EGRESS_ALLOW: egress.filter(Boolean).join(','),
    ...toolCredentials(env),
    ...(temporal.uiUrl === undefined ? {} : { TEMPORAL_UI_URL: temporal.uiUrl }),
    ...(ollamaUrl === undefined ? {} : { OLLAMA_URL: ollamaUrl }),
  };
  const demo = provider && { DEMO_ISSUER: provider.issuer, DEMO_CLIENT_SECRET: provider.clientSecret };
  return { runtime, admin: { ...runtime, ...demo, DATABASE_ADMIN_URL: adminUrl } };
}

/** Where browsers on this machine find the gateway. */
export function gatewayUrl({ ports }: Settings): string {
  return `http://127.0.0.1:${ports.gateway}`;
}

/** The bindings, and the variables that they name. */
function toolCredentials(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const bindings = env['TOOL_CREDENTIALS'] ?? '';
  const names = bindings.split(',').map((entry) => entry.split('@')[0]?.trim() ?? '');
  const values = names.filter((name) => env[name]).map((name) => [name, env[name]]);
  return bindings === '' ? {} : { TOOL_CREDENTIALS: bindings, ...Object.fromEntries(values) };
}

/** The Ollama that OLLAMA_HOST or OLLAMA_URL names, or one that answers on this machine. */
export async function findOllama(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const named = env['OLLAMA_URL'] || env['OLLAMA_HOST'];
  if (named) return URL.parse(/^https?:/.test(named) ? named : `http://${named}`)?.origin;
  try {
    const response = await fetch(`${LOCAL_OLLAMA}/api/tags`, {
      signal: AbortSignal.timeout(OLLAMA_ANSWERS_WITHIN_MS),
    });
    return response.ok ? LOCAL_OLLAMA : undefined;
  } catch {
    return undefined;
  }
}

function withUser(url: string, user: string, password: string): string {
  const other = new URL(url);
  other.username = user;
  other.password = password;
  return other.href;
}
