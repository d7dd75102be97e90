import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import type { Visitor } from './cookie-client.ts';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The path of a browser on this machine, undefined without one. */
export function findBrowser(): string | undefined {
  return [process.env.CHROMIUM_PATH, ...places].find((path) => path !== undefined && existsSync(path));
}

/** A headless browser of this machine, without background requests. */
export function launchBrowser(executablePath: string, { blocksPopups = false } = {}): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Playwright lets every page open windows.
    ...(blocksPopups ? { ignoreDefaultArgs: ['--disable-popup-blocking'] } : {}),
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
    ],
  });
}

/** One window of it, for a journey. */
export async function openBrowser(executablePath: string): Promise<Visitor> {
  const browser = await launchBrowser(executablePath);
  const page = await browser.newPage();
  return {
    open: async (url) => void (await page.goto(url)),
    press: async (text) => {
      await page.locator('form button', { hasText: text }).click();
      await page.waitForLoadState();
    },
    textOf: async (selector) => (await page.locator(selector).textContent({ timeout: 10_000 })) ?? '',
    url: () => page.url(),
    close: () => browser.close(),
  };
}
