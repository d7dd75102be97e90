import type { AuthorizationPreset } from '../provider.ts';

/**
 * The endpoints for a source at the vendor's own origin, else the same paths at the origin of the source: the address of
 * a self-hosted instance is that of its authorization server, too, and nobody can name another one.
 */
export function presetAt(
  sourceUrl: string,
  vendorOrigin: string,
  preset: AuthorizationPreset,
): AuthorizationPreset {
  const { origin } = new URL(sourceUrl);
  if (origin === vendorOrigin) {
    return preset;
  }
  const moved = (address: string) => origin + new URL(address).pathname.replace(/^\/$/, '');
  return {
    ...preset,
    issuer: moved(preset.issuer),
    authorizationUrl: moved(preset.authorizationUrl),
    tokenUrl: moved(preset.tokenUrl),
    revocationUrl: preset.revocationUrl === null ? null : moved(preset.revocationUrl),
  };
}
