import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { expect, it } from 'vitest';
import { KeySets } from '#adapters/identity/key-sets.ts';

const address = 'https://id.example.com/keys';
const issuer = 'https://id.example.com';

async function keyNamed(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } };
}

it('a provider that names the key set of another provider does not use up that one’s refreshes', async () => {
  const [old, next, madeUp] = await Promise.all(['old', 'next', 'made-up'].map(keyNamed));
  let published = [old!.jwk];
  const sets = new KeySets(() => Promise.resolve(Response.json({ keys: published })));
  const verify = async (from: string, { kid, privateKey }: Awaited<ReturnType<typeof keyNamed>>) => {
    const token = await new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
    return jwtVerify(token, sets.of({ issuer: from, address }, 'provider'));
  };
  await verify(issuer, old!);
  await expect(verify('https://other.example.net', madeUp!)).rejects.toMatchObject({
    code: 'ERR_JWKS_NO_MATCHING_KEY',
  });
  published = [next!.jwk];
  expect((await verify(issuer, next!)).protectedHeader.kid).toBe('next');
});
