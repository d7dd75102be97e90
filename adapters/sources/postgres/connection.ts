import type { Socket } from 'node:net';
import { Client } from 'pg';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { dialServer } from '../shared/dial-server.ts';
import { oneAtATime } from '../shared/one-at-a-time.ts';
import { bareHost } from '../shared/server-address.ts';
import { isUnreadable, otherType, postgresFailure } from './postgres-failure.ts';
import type { PostgresScope } from './scope.ts';
import type { Row, Statement } from './statements.ts';

const connectMs = 10_000;
const statementMs = 30_000;
const lockMs = 5_000;
/** Beside what a document may have: the other columns of a page. */
const answerBytes = 8 * 1_048_576;

export interface PostgresAccess {
  connect: SourceAccess['connect'];
  credential: Extract<CredentialValue, { kind: 'basic' }>;
}

export interface Connection {
  /** @param contentBytes that the answer may have in addition */
  rows(statement: Statement, signal: AbortSignal, contentBytes?: number): Promise<Row[]>;
  close(): Promise<void>;
}

/** One connection, made when it is needed, and again after a failure. Each statement has a read-only transaction. */
export function createConnection(scope: PostgresScope, access: PostgresAccess): Connection {
  let current: Session | null = null;
  const inTurn = oneAtATime();
  const end = () => {
    current?.life.abort();
    current = null;
  };
  return {
    rows: (statement, signal, contentBytes = 0) =>
      inTurn(async () => {
        signal.throwIfAborted();
        const session = (current ??= newSession());
        // A connection outlives the signal of the call that makes it.
        signal.addEventListener('abort', end, { once: true });
        try {
          session.bytesLeft = answerBytes + contentBytes;
          session.client ??= await connectClient(scope, access, session);
          return await read(session.client, statement);
        } catch (error) {
          const isOfValues = await refusesValues(session.client, statement, error);
          end();
          signal.throwIfAborted();
          throw isOfValues ? otherType(error) : postgresFailure(session.failure ?? error, signal);
        } finally {
          signal.removeEventListener('abort', end);
        }
      }),
    close: async () => end(),
  };
}

interface Session {
  client: Client | null;
  /** Destroys the connection. */
  life: AbortController;
  bytesLeft: number;
  /** Why it was destroyed, where the client would only say that the connection is lost. */
  failure: SourceFailure | null;
}

const newSession = (): Session => ({
  client: null,
  life: new AbortController(),
  bytesLeft: answerBytes,
  failure: null,
});

async function connectClient(
  scope: PostgresScope,
  { connect, credential }: PostgresAccess,
  session: Session,
): Promise<Client> {
  const { host, port, database, ssl, ssl_certificate } = scope;
  const target = { scheme: 'postgres', host, port, signal: session.life.signal };
  const socket = await dialServer(connect, target, ssl !== 'off');
  socket.on('error', () => {});
  const client = new Client({
    host: bareHost(host),
    port,
    database,
    user: credential.username,
    password: credential.password,
    ssl: ssl === 'verify' && { rejectUnauthorized: true, ...(ssl_certificate && { ca: ssl_certificate }) },
    stream: () => connected(socket),
    application_name: 'connector',
    connectionTimeoutMillis: connectMs,
    query_timeout: statementMs + 5_000,
    types: { getTypeParser: () => (text: string) => text },
  });
  client.on('error', () => {});
  const { connection } = client;
  const meter = () => connection.stream.on('data', ({ byteLength }: Buffer) => count(session, byteLength));
  if (ssl === 'off') {
    meter();
  } else {
    // From here on the stream is the decrypted one.
    connection.once('sslconnect', meter);
  }
  await client.connect();
  await client.query('set default_transaction_read_only = on');
  return client;
}

/** The client dials what it is given: this one has been dialled by the guard. */
function connected(socket: Socket): Socket {
  socket.connect = () => {
    process.nextTick(() => socket.emit('connect'));
    return socket;
  };
  return socket;
}

function count(session: Session, bytes: number): void {
  session.bytesLeft -= bytes;
  if (session.bytesLeft < 0) {
    session.failure ??= new SourceFailure(
      'source_invalid',
      'An answer of the source exceeds its limit of bytes.',
    );
    session.life.abort();
  }
}

/** Whether an error is about the values of a statement, and not about the rows that it reads. */
async function refusesValues(client: Client | null, { cast }: Statement, error: unknown): Promise<boolean> {
  if (client === null || cast === null || !isUnreadable(error)) return false;
  try {
    await client.query('rollback');
    await read(client, cast);
    return false;
  } catch (reason) {
    return isUnreadable(reason);
  }
}

async function read(client: Client, { text, values }: Pick<Statement, 'text' | 'values'>): Promise<Row[]> {
  await client.query(`begin transaction isolation level repeatable read read only;
    set local statement_timeout = ${statementMs}; set local lock_timeout = ${lockMs};
    set local search_path = pg_catalog; set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'`);
  const { rows } = await client.query<Row>(text, values);
  await client.query('rollback');
  return rows;
}
