import { vi } from 'vitest'

/**
 * Waits until what is expected holds, and resolves to what it gives: far longer than it takes, on however busy a machine.
 * What must hold within a time says that time itself.
 */
export function eventually<T>(expectation: () => T | Promise<T>, { interval = 25 } = {}): Promise<T> {
  return vi.waitFor(expectation, { timeout: 120_000, interval })
}
