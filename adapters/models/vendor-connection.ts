/** Address and credential of one model. */
export interface VendorConnection {
  baseURL: string;
  /** Empty: no key, or `fetch` sends it in a header of its own. */
  apiKey: string;
  fetch: typeof globalThis.fetch;
  /** Separates cached clients by tenant, whose share `fetch` takes, and by stored credential with its version and use. */
  identity: string;
  /** The parts of a stored credential, which are removed from answers. */
  secrets?: readonly string[];
}
