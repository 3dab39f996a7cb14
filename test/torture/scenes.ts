import type { Scene } from './arena.ts'
import { killedBalances, killedSpending } from './scenes/balances.ts'
import { broadcast, filteredBroadcast } from './scenes/broadcast.ts'
import { clock } from './scenes/clock.ts'
import { creates } from './scenes/creates.ts'
import { postgresRestarted, sqliteFull, sqliteShared } from './scenes/database.ts'
import { drill } from './scenes/drill.ts'
import { identities } from './scenes/identities.ts'
import { kills } from './scenes/kills.ts'
import { neighbours } from './scenes/neighbours.ts'
import { offline } from './scenes/offline.ts'
import { repeats } from './scenes/repeats.ts'
import { killedSets, scans } from './scenes/scans.ts'
import { sigterm } from './scenes/sigterm.ts'
import { stale } from './scenes/stale.ts'
import { updates } from './scenes/updates.ts'
import { upgrade } from './scenes/upgrade.ts'
import { killedZones } from './scenes/zones.ts'

/** At least one scene for each promise, in the order of the promises. */
export const scenes: Scene[] = [
  kills,
  killedSets,
  killedZones,
  killedBalances,
  killedSpending,
  repeats,
  stale,
  sigterm,
  broadcast,
  filteredBroadcast,
  upgrade,
  creates,
  scans,
  updates,
  offline,
  postgresRestarted,
  sqliteFull,
  sqliteShared,
  clock,
  drill,
  identities,
  neighbours,
]
