import { startPostgresRelay, type PostgresRelay } from './postgres-relay.ts';

/** Statements that went through: a simple query or the execution of a prepared one each. */
export interface StatementCounter extends PostgresRelay {
  /** How many `work` sent, over all its connections. */
  during(work: () => Promise<unknown>): Promise<number>;
}

const simpleQuery = 'Q'.charCodeAt(0);
const execute = 'E'.charCodeAt(0);

/** A proxy before PostgreSQL that reads the clients' messages. */
export async function countStatements(databaseUrl: string): Promise<StatementCounter> {
  let counted = 0;
  const relay = await startPostgresRelay(databaseUrl, {
    fromClient: (to) => {
      const read = messageReader((type) => {
        counted += type === simpleQuery || type === execute ? 1 : 0;
      });
      return (chunk) => {
        read(chunk);
        to.write(chunk);
      };
    },
  });
  return {
    ...relay,
    during: async (work) => {
      const before = counted;
      await work();
      return counted - before;
    },
  };
}

/** Calls `found` with the type of each message of a client; its first message has none. */
function messageReader(found: (type: number) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let started = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const typed = started ? 1 : 0;
      if (rest.length < typed + 4) {
        return;
      }
      const length = typed + rest.readUInt32BE(typed);
      if (rest.length < length) {
        return;
      }
      if (started) {
        found(rest[0]!);
      }
      started = true;
      rest = rest.subarray(length);
    }
  };
}
