import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { own } from '#domain/foundation/kernel/own.ts';
import type { DataDirectory } from './data-directory.ts';
import type { DemoProvider } from './identity-provider.ts';
import { memorySettings } from './memory-settings.ts';
import type { Settings } from './settings.ts';
import { NAMESPACE } from './temporal.ts';

/** Passed unchanged from the launcher's environment to every child; all other variables stay here. */
const HANDED_ON = [
  'PATH',
  'HOME',
  'TMPDIR',
  'XDG_CACHE_HOME',
  'NODE_EXTRA_CA_CERTS',
  'EMBEDDING_MODEL_URL',
  'EMBEDDING_MODEL_PATH',
  'EMBEDDING_CACHE_DIR',
] as const;

/** Passed only to the process that calls vendors and tool servers. */
const OF_THE_WORKER = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'MODEL_CREDENTIALS',
  'TRACING_BASE_URL',
] as const;

const LOCAL_OLLAMA = 'http://127.0.0.1:11434';
const OLLAMA_ANSWERS_WITHIN_MS = 300;

/** Each child gets only the variables that it reads: a compromised process exposes its own secrets alone. */
export interface ChildEnvironments {
  /** No administrator's rights on the database, no vendor's key, no right to purge. */
  gateway: NodeJS.ProcessEnv;
  /** No administrator's rights on the database. */
  worker: NodeJS.ProcessEnv;
  migrate: NodeJS.ProcessEnv;
  /** Seeds what the worker's keys make possible, as an administrator. */
  demo: NodeJS.ProcessEnv;
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
  const shared: NodeJS.ProcessEnv = {
    ...chosen(env, HANDED_ON),
    DATABASE_URL: withUser(adminUrl, 'app_rt', data.passwords.runtime),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: NAMESPACE,
    MASTER_KEY: data.masterKey,
    HOST: '127.0.0.1',
    LOG_LEVEL: settings.logLevel,
    EXIT_WITH_PARENT: '1',
    INSTANCE_ID: randomUUID(),
    ...memorySettings,
    PUBLIC_URL: gatewayUrl(settings),
    EGRESS_ALLOW: egress.filter(Boolean).join(','),
    CONNECTOR_ROOTS: [env['CONNECTOR_ROOTS'], `documentation=${join(data.path, 'documentation')}`]
      .filter(Boolean)
      .join(','),
  };
  const gateway = {
    ...shared,
    PORT: String(settings.ports.gateway),
    ...(provider === undefined ? {} : { DEMO_PAGES: '1' }),
  };
  const logins = {
    DATABASE_PURGE_URL: withUser(adminUrl, 'app_purge', data.passwords.purge),
    DATABASE_VERIFIER_URL: withUser(adminUrl, 'app_verifier', data.passwords.verifier),
  };
  const worker = {
    ...shared,
    ...logins,
    ...chosen(env, [...OF_THE_WORKER, ...namesIn(env['MODEL_CREDENTIALS'])]),
    ...chosen(env, ['TOOL_CREDENTIALS', ...namesIn(env['TOOL_CREDENTIALS'])]),
    WORKER_PORT: String(settings.ports.worker),
    ANCHOR_FILE: join(data.path, 'event-anchors.jsonl'),
    ...(temporal.uiUrl === undefined ? {} : { TEMPORAL_UI_URL: temporal.uiUrl }),
    ...(ollamaUrl === undefined ? {} : { OLLAMA_URL: ollamaUrl }),
  };
  const administrator = { DATABASE_ADMIN_URL: adminUrl };
  return {
    gateway,
    worker,
    migrate: { ...shared, ...logins, ...administrator },
    demo: {
      ...gateway,
      ...worker,
      ...administrator,
      ...(provider && { DEMO_ISSUER: provider.issuer, DEMO_CLIENT_SECRET: provider.clientSecret }),
    },
  };
}

/** Variables that are set and not empty. */
function chosen(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(names.filter((name) => own(env, name)).map((name) => [name, own(env, name)]));
}

/** The variables that a list of bindings names: `NAME@address, …`. */
function namesIn(bindings = ''): string[] {
  return bindings.split(',').map((entry) => entry.split('@')[0]?.trim() ?? '');
}

/** Where browsers on this machine find the gateway. */
export function gatewayUrl({ ports }: Settings): string {
  return `http://127.0.0.1:${ports.gateway}`;
}

/** The Ollama that OLLAMA_HOST or OLLAMA_URL names, or a running one on this machine. */
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
