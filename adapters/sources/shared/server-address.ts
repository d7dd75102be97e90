import { z } from 'zod';

/** Fields of a scope whose source is a server of a protocol other than HTTP. */
export const hostField = z
  .string()
  .toLowerCase()
  .regex(
    /^[a-z0-9._-]{1,253}$|^\[[0-9a-f:.]{2,45}\]$/,
    'must be a host name, such as db.example.org, or an address (IPv6 in brackets)',
  )
  .describe('Name or address of the server, such as db.example.org.');

export const portField = (usual: number) =>
  z.int().min(1).max(65_535).default(usual).describe('Port of the server.');

export const certificateField = z
  .string()
  .max(20_000)
  .refine(
    (text) => /^\s*-----BEGIN CERTIFICATE-----\n/.test(text),
    'must be certificates in the form PEM, beginning with -----BEGIN CERTIFICATE-----',
  )
  .nullable()
  .default(null)
  .describe(
    'Certificates (PEM) of the authority that the server is verified with, where it is not a public one.',
  );

interface Server {
  host: string;
  port: number;
}

/** `SourceProvider.endpoint` of such a server. */
export function serverEndpoint(scheme: string, { host, port }: Server): { host: string; origin: string } {
  return { host: `${host}:${port}`, origin: `${scheme}://${host}:${port}` };
}

/** As sockets and certificates have it. */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, '');
