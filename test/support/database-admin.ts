import { Client } from 'pg';

export interface NewDatabase {
  name: string;
  /** Copied; it must have no connections. */
  template?: string;
}

export async function createDatabase(adminUrl: string, { name, template }: NewDatabase): Promise<void> {
  await administrate(adminUrl, (client) => {
    // Files are copied at half the cost of writing them to the log as well.
    const source =
      template === undefined ? '' : ` template ${client.escapeIdentifier(template)} strategy file_copy`;
    return client.query(`create database ${client.escapeIdentifier(name)}${source}`);
  });
}

/** Also ends its open sessions. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await administrate(adminUrl, (client) =>
    client.query(`drop database if exists ${client.escapeIdentifier(name)} with (force)`),
  );
}

async function administrate(adminUrl: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
