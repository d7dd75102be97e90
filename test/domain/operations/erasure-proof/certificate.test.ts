import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#domain/foundation/kernel/canonical-json.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { SignedCertificate } from '#domain/operations/erasure-proof/certificate.ts';
import { publicKeyText, signCertificate } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { verifyCertificate } from '#domain/operations/erasure-proof/verify-certificate.ts';
import { certificateOf } from '../../../support/erasure-certificate.ts';

const masterKey = randomBytes(32).toString('base64');
const key = new Secrets(masterKey).certificateKey();
const publicKey = publicKeyText(key);
const certificate = certificateOf(
  '0192b0a0-0000-7000-8000-000000000001',
  '0192b0a0-0000-7000-8000-000000000002',
);
const signed = signCertificate(certificate, key);
const file = (change: (copy: SignedCertificate) => void): string => {
  const copy = structuredClone(signed);
  change(copy);
  return JSON.stringify(copy);
};

describe('a certificate of erasure', () => {
  it('is verified from its file and the public key alone, however its JSON is laid out', () => {
    expect(verifyCertificate(JSON.stringify(signed), publicKey)).toEqual({ valid: true, certificate });
    const members = Object.entries(signed.certificate).toReversed();
    const reordered = { signature: signed.signature, certificate: Object.fromEntries(members) };
    expect(verifyCertificate(JSON.stringify(reordered, null, 4), publicKey)).toMatchObject({ valid: true });
  });

  it.each<[string, (copy: SignedCertificate) => void]>([
    ['another count', (copy) => (copy.certificate.verification.tables['items'] = 1)],
    ['another tenant', (copy) => (copy.certificate.tenant_id = certificate.deletion_id)],
    ['a table that is missing', (copy) => delete copy.certificate.erased_by_row.rows_before['items']],
    ['a later time', (copy) => (copy.certificate.finished_at = '2026-11-26T10:00:00.000Z')],
    [
      'another signature',
      (copy) => (copy.signature.value = copy.signature.value.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))),
    ],
    ['no signature', (copy) => (copy.signature.value = '')],
  ])('with %s is refused', (_, change) => {
    expect(verifyCertificate(file(change), publicKey)).toMatchObject({ valid: false });
  });

  it('that somebody else signed is refused, although its own key fits', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const forged = signCertificate({ ...certificate, workflow_histories_deleted: 0 }, privateKey);
    expect(verifyCertificate(JSON.stringify(forged), publicKeyText(privateKey))).toMatchObject({
      valid: true,
    });
    expect(verifyCertificate(JSON.stringify(forged), publicKey)).toMatchObject({ valid: false });
    const relabelled = { ...forged, signature: { ...forged.signature, public_key: publicKey } };
    expect(verifyCertificate(JSON.stringify(relabelled), publicKey)).toMatchObject({ valid: false });
  });

  it.each([
    ['no JSON', 'certificate'],
    ['an empty object', '{}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a member that it does not have', JSON.stringify({ ...signed, note: 'x' })],
  ])('that is %s is refused without an exception', (_, text) => {
    expect(verifyCertificate(text, publicKey)).toMatchObject({ valid: false });
  });

  it('is refused, not crashed, by a key that is none', () => {
    const odd = { ...signed, signature: { ...signed.signature, public_key: 'AAAA' } };
    expect(verifyCertificate(JSON.stringify(odd), 'AAAA')).toMatchObject({ valid: false });
  });

  it('is not signed while anything is left', () => {
    const { verification } = certificate;
    const left = [{ tables: { items: 1 } }, { shared: { outbox: 1 } }, { bytes: 1 }, { workflows: 1 }];
    for (const found of left) {
      const unclean = { ...certificate, verification: { ...verification, ...found } };
      expect(() => signCertificate(unclean, key)).toThrow('something is left');
    }
  });

  it('is signed with a key that the master key alone decides', () => {
    expect(publicKeyText(new Secrets(masterKey).certificateKey())).toBe(publicKey);
    expect(publicKeyText(new Secrets(randomBytes(32).toString('base64')).certificateKey())).not.toBe(
      publicKey,
    );
    expect(signCertificate(certificate, key)).toEqual(signed);
  });
});

describe('canonical JSON', () => {
  it('follows RFC 8785 in numbers, escapes and the order of names', () => {
    expect(canonicalJson([Number('333333333.33333329'), 1e30, 4.5, 2e-3, 1e-27, -0])).toBe(
      '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]',
    );
    expect(canonicalJson('\u20ac$\u000f\nA\'B"\\\\"/')).toBe(`"\u20ac$\\u000f\\nA'B\\"\\\\\\\\\\"/"`);
    const names = ['\u20ac', '\r', '\ufb33', '1', '\u0080', '\u{1f600}', '\u00f6'];
    const text = canonicalJson(Object.fromEntries(names.map((name) => [name, 0])));
    expect(Object.keys(JSON.parse(text) as object)).toHaveLength(7);
    expect([...text.matchAll(/"(.*?)":/gu)].map(([, name]) => JSON.parse(`"${name}"`) as string)).toEqual([
      '\r',
      '1',
      '\u0080',
      '\u00f6',
      '\u20ac',
      '\u{1f600}',
      '\ufb33',
    ]);
  });
});
