import { createHash, createHmac, pbkdf2Sync, timingSafeEqual } from 'node:crypto';
import type { Client } from 'pg';
import type { MigratorConfig } from '#domain/foundation/kernel/config.ts';

export type MigrationInput = Omit<MigratorConfig, 'CHANGE_LOGIN_PASSWORDS'> &
  Partial<Pick<MigratorConfig, 'CHANGE_LOGIN_PASSWORDS'>>;

export interface PasswordChange {
  role: string;
  password: string;
}

const logins = [
  ['DATABASE_URL', 'app_rt'],
  ['DATABASE_PURGE_URL', 'app_purge'],
  ['DATABASE_VERIFIER_URL', 'app_verifier'],
] as const;

/**
 * The passwords to set, as the logins' addresses name them. Roles belong to the whole server: a password that another
 * database's programs use is changed only when `CHANGE_LOGIN_PASSWORDS` asks for it.
 * @throws for an address of another login, and where such a password would change
 */
export async function passwordChanges(admin: Client, config: MigrationInput): Promise<PasswordChange[]> {
  const changes: PasswordChange[] = [];
  for (const [name, role] of logins) {
    const password = passwordOf(name, role, config[name]);
    const known = password === '' ? null : await verifierOf(admin, role);
    if (password === '' || (known !== null && matches(known, password))) {
      continue;
    }
    const [other] = known === null || config.CHANGE_LOGIN_PASSWORDS === true ? [] : await users(admin, role);
    if (other !== undefined) {
      throw new Error(
        `The login ${role} has another password than ${name}, and the database ${other} of this server uses it, too: give ${name} the password in use, use a server of its own, or set CHANGE_LOGIN_PASSWORDS=true and give the programs of the other database the new password.`,
      );
    }
    changes.push({ role, password });
  }
  return changes;
}

function passwordOf(name: string, role: string, address: string | undefined): string {
  if (address === undefined) return '';
  const url = new URL(address);
  if (decodeURIComponent(url.username) !== role) {
    throw new Error(`${name} must log in as ${role}.`);
  }
  return decodeURIComponent(url.password);
}

/** What the server stores to check a password; null: there is no such role, or it has no password. */
async function verifierOf(admin: Client, role: string): Promise<string | null> {
  const { rows } = await admin.query<{ verifier: string | null }>(
    'select rolpassword as verifier from pg_authid where rolname = $1',
    [role],
  );
  return rows[0]?.verifier ?? null;
}

/** The other databases of the server in which the role was granted something. */
async function users(admin: Client, role: string): Promise<string[]> {
  const { rows } = await admin.query<{ name: string }>(
    `select distinct d.datname as name from pg_shdepend s join pg_database d on d.oid = s.dbid
     where s.refclassid = 'pg_authid'::regclass and s.refobjid = $1::regrole and d.datname <> current_database()
     order by 1 limit 1`,
    [role],
  );
  return rows.map(({ name }) => name);
}

/** Whether a verifier of PostgreSQL, `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`, is of a password. */
function matches(verifier: string, password: string): boolean {
  const [kind, round = '', keys = ''] = verifier.split('$');
  const [iterations, salt = ''] = round.split(':');
  const stored = Buffer.from(keys.split(':')[0] ?? '', 'base64');
  if (kind !== 'SCRAM-SHA-256' || stored.length !== 32) return false;
  const salted = pbkdf2Sync(
    password.normalize('NFKC'),
    Buffer.from(salt, 'base64'),
    Number(iterations),
    32,
    'sha256',
  );
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  return timingSafeEqual(createHash('sha256').update(clientKey).digest(), stored);
}
