import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { hasCause } from '../../egress/has-cause.ts';

const certificateCodes = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Null: the error is not about the server's certificate. */
export function certificateFailure(error: unknown): SourceFailure | null {
  const isRefused = hasCause(error, (cause) => {
    const code = (cause as { code?: unknown } | null)?.code;
    return typeof code === 'string' && certificateCodes.has(code);
  });
  return isRefused
    ? new SourceFailure('scope_invalid', 'The certificate of the source is not trusted here.', {
        cause: error,
      })
    : null;
}
