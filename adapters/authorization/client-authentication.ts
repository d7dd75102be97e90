import { createPrivateKey, type KeyObject } from 'node:crypto';
import {
  createPrivateKeyJwtAuth,
  selectClientAuthMethod,
  type AddClientAuthentication,
} from '@modelcontextprotocol/client';
import {
  AuthorizationFailure,
  type AuthorizationTarget,
  type ClientAuthMethod,
  type OAuthClient,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { basicAuthorization } from '../egress/basic-authorization.ts';
import { metadataOf } from './server-metadata.ts';

/** Adds a client's authentication to a request to the token or the revocation endpoint. */
export function clientAuthentication(
  target: Pick<AuthorizationTarget, 'metadata'>,
  client: OAuthClient,
): AddClientAuthentication {
  const { clientId, clientSecret, privateKey } = client;
  const method = methodOf(target, client);
  return async (headers, params, url, metadata) => {
    if (method === 'private_key_jwt') {
      if (privateKey === null) {
        throw unusable();
      }
      const key = keyOf(privateKey);
      const sign = createPrivateKeyJwtAuth({
        issuer: clientId,
        subject: clientId,
        privateKey: key.export({ format: 'jwk' }),
        alg: algOf(key, metadataOf(target).token_endpoint_auth_signing_alg_values_supported),
      });
      // RFC 6749 lets a public client name itself; servers look the client up by it before they read the assertion.
      params.set('client_id', clientId);
      await sign(headers, params, url, metadata);
      return;
    }
    if (method === 'none') {
      params.set('client_id', clientId);
      return;
    }
    if (clientSecret === null) {
      throw unusable();
    }
    if (method === 'client_secret_basic') {
      headers.set('Authorization', basicAuthorization(clientId, clientSecret));
    } else {
      params.set('client_id', clientId);
      params.set('client_secret', clientSecret);
    }
  };
}

function methodOf(target: Pick<AuthorizationTarget, 'metadata'>, client: OAuthClient): ClientAuthMethod {
  const { clientId, clientSecret, privateKey, authMethod } = client;
  if (authMethod !== null) {
    return authMethod;
  }
  if (privateKey !== null) {
    return 'private_key_jwt';
  }
  return selectClientAuthMethod(
    { client_id: clientId, ...(clientSecret === null ? {} : { client_secret: clientSecret }) },
    metadataOf(target).token_endpoint_auth_methods_supported ?? [],
  );
}

function keyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw unusable();
  }
}

const curveAlgs = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
]);

/** The algorithm that fits the key; for RSA an algorithm that the server reads. */
function algOf(key: KeyObject, supported: readonly string[] | undefined): string {
  if (key.asymmetricKeyType === 'rsa') {
    const algs = ['RS256', 'PS256', 'RS384', 'PS384', 'RS512', 'PS512'];
    return algs.find((alg) => supported?.includes(alg) ?? true) ?? 'RS256';
  }
  if (key.asymmetricKeyType === 'ed25519') {
    return 'EdDSA';
  }
  const alg = curveAlgs.get(key.asymmetricKeyDetails?.namedCurve ?? '');
  if (alg === undefined) {
    throw unusable();
  }
  return alg;
}

/** A client whose secret or key is missing or cannot be read. */
function unusable(): AuthorizationFailure {
  return new AuthorizationFailure('client_rejected', { sent: false });
}
