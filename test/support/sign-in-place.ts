import type { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { openGateway, type TestGateway } from './gateway.ts';
import { IdentityProviderServer } from './identity-provider.ts';
import { publicUrl } from './sign-in.ts';
import { connect } from './tables.ts';

/** A gateway whose tenants sign in with an OpenID provider. */
export interface SignInPlace {
  database: TestDatabase;
  gateway: TestGateway;
  server: IdentityProviderServer;
  /** Bypasses row-level security. */
  admin: Client;
  close(): Promise<void>;
}

export async function openSignInPlace(): Promise<SignInPlace> {
  const database = await createTestDatabase();
  const server = await new IdentityProviderServer().start();
  const gateway = await openGateway(database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: server.issuer });
  const admin = await connect(database.adminUrl);
  return {
    database,
    gateway,
    server,
    admin,
    async close() {
      await gateway.close();
      await server.stop();
      await admin.end();
      await database.drop();
    },
  };
}
