/** Where one model of a vendor is reached, and with which key. */
export interface VendorConnection {
  baseURL: string;
  /** Empty: none. */
  apiKey: string;
  fetch: typeof globalThis.fetch;
}
