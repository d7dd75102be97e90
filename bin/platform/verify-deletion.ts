import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseConfig } from '#domain/foundation/kernel/config.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { publicKeyText } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { verifyCertificate } from '#domain/operations/erasure-proof/verify-certificate.ts';
import { fields } from './print.ts';

export interface VerifyDeletionOptions {
  key?: string;
  json?: boolean;
}

const environment = z.object({ MASTER_KEY: z.string() });

const ownKey = (): string =>
  publicKeyText(new Secrets(parseConfig(environment, process.env).MASTER_KEY).certificateKey());

/** Needs the file and the platform's public key alone. @throws when the certificate is not valid */
export async function verifyDeletion(file: string, options: VerifyDeletionOptions): Promise<void> {
  const check = verifyCertificate(readFileSync(file, 'utf8'), options.key ?? ownKey());
  if (!check.valid) {
    throw new Error(check.reason);
  }
  const { tenant_id, deletion_id, reason_code, finished_at, erased_by_row } = check.certificate;
  const rows = Object.values(erased_by_row.rows_erased).reduce((sum, n) => sum + n, 0);
  console.log(
    options.json === true
      ? JSON.stringify(check.certificate)
      : fields({ valid: true, tenant_id, deletion_id, reason_code, finished_at, rows_erased: rows }),
  );
}

export function printDeletionKey(): void {
  console.log(ownKey());
}
