import { foldCase } from '#domain/identity/principals/fold-address.ts';
import type { SourceReaders } from '#domain/knowledge/connectors/source.ts';
import type { Permission } from './wire.ts';

/** A group stands as its address; who its members are, another interface says. */
export function toReaders(
  permissions: readonly Permission[],
  { linkIsPublic, now }: { linkIsPublic: boolean; now: number },
): SourceReaders {
  const addresses = new Set<string>();
  const groups = new Set<string>();
  const domains = new Set<string>();
  for (const permission of permissions) {
    const { type, emailAddress, domain, allowFileDiscovery, deleted, expirationTime, view } = permission;
    const hasEnded = expirationTime !== undefined && !(Date.parse(expirationTime) > now);
    if (deleted === true || hasEnded || view !== undefined) {
      continue;
    }
    if (type === 'anyone' && (allowFileDiscovery === true || linkIsPublic)) {
      return 'public';
    }
    if (type === 'user' && emailAddress !== undefined) {
      addresses.add(foldCase(emailAddress));
    } else if (type === 'group' && emailAddress !== undefined) {
      groups.add(foldCase(emailAddress));
    } else if (type === 'domain' && domain !== undefined && (allowFileDiscovery !== false || linkIsPublic)) {
      domains.add(foldCase(domain));
    }
  }
  return {
    addresses: [...addresses],
    groups: [...groups],
    ...(domains.size > 0 && { domains: [...domains] }),
  };
}
