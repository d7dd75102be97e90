import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestCertificate {
  certificateFile: string;
  keyFile: string;
  certificate: string;
  key: string;
}

/** A certificate of its own authority for 127.0.0.1; null: the machine has no `openssl`. */
export function makeTestCertificate(): TestCertificate | null {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const [certificateFile, keyFile] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  try {
    execFileSync('openssl', ['req', '-x509', ...key, '-out', certificateFile, ...subject], { stdio: 'pipe' });
  } catch {
    return null;
  }
  const [certificate, privateKey] = [certificateFile, keyFile].map((file) => readFileSync(file, 'utf8'));
  return { certificateFile, keyFile, certificate: certificate ?? '', key: privateKey ?? '' };
}
