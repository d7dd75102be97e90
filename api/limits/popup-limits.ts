import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import { perAddress, type Limit } from './sign-in-limits.ts';

/** Limits by address of the popups that connect accounts; one instance for all prefixes of a process. */
export interface PopupLimits {
  /** Pages that are opened, and answers to them. */
  start: Limit;
  /** Counted apart: popups that nobody finishes do not keep others from coming back. */
  callback: Limit;
}

export function popupLimits({ MAX_POPUP_REQUESTS }: Pick<GatewayConfig, 'MAX_POPUP_REQUESTS'>): PopupLimits {
  return {
    start: perAddress(MAX_POPUP_REQUESTS, 'Too many popups were opened from this address.'),
    callback: perAddress(MAX_POPUP_REQUESTS, 'Too many popups came back to this address.'),
  };
}
