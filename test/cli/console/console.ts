import { createDoor, type Door, type DoorOptions } from '../../../src/cli/console/console-door.ts'
import type { Client } from '../../../src/client/client.ts'

/** Opens the door of a console without a screen. */
export function openDoor(client: Client, folder: string, options: Partial<DoorOptions> = {}): Promise<Door> {
  return createDoor({
    client,
    folder,
    station: { projectId: undefined, deviceId: 'gate', context: {} },
    isReached: true,
    overrides: { scanContextKey: null, validityDate: null },
    clock: () => new Date(),
    sameScanMs: 0,
    onOutcome: () => undefined,
    onChange: () => undefined,
    ...options,
  })
}

/** Stores the list of all passes in a folder, like a console that was open there. */
export async function storeList(client: Client, folder: string): Promise<void> {
  const door = await openDoor(client, folder)
  await door.flush(60_000)
  await door.stop()
}
