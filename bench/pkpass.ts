/**
 * Measures signed passes per second, against passkit-generator with the same images and certificates, and against the
 * signatures of one core and of all cores (`openssl speed -multi`). Also prints the cost of a signature in this
 * process, which is the minimum cost of a package. Rounds alternate, and start after V8 has optimized the code, as in a
 * server that has issued a few thousand passes. The heap grows as in `passes serve`. Run: npx tsx bench/pkpass.ts,
 * after npm run build. Exits with 1 if a target is missed.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { createBenchWallet, packages } from './pkpass-packages.ts'
import { createPeer } from './pkpass-peer.ts'
import { built } from './support/built.ts'
import { figure } from './support/figures.ts'
import { signaturesASecond } from './support/openssl.ts'
import { median, rounds, spread } from './support/rounds.ts'

const IN_FLIGHT = 16
const SECONDS_A_ROUND = 1
const WARM_UP_SECONDS = 2
const targets = { timesPeer: 40, ofAllCores: 0.85, ofVariants: 0.6 }
const cores = availableParallelism()

const { letHeapGrow } = await built<typeof import('../src/server/boot/heap.ts')>('server/boot/heap.js')
letHeapGrow()

const at = new Date()
const { wallet, passOf, passOfHolder, passInLanguages, chain } = await createBenchWallet(at)
const peer = createPeer(chain)
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const attributes = Buffer.alloc(104)
const signAlone = () =>
  new Promise<void>((resolve, reject) => {
    sign('sha256', attributes, privateKey, (error) => (error ? reject(error) : resolve()))
  })
for (const { name, boundBySigning } of packages) {
  const pass = passOf(name)
  const buildPackage = async () => {
    const unsigned = await wallet.preparePackage(pass, at)
    return unsigned.complete(await wallet.signPackage(unsigned, at))
  }
  const archive = await buildPackage()
  const buildPeers = peer.builderOf(archive)
  await callsASecond(buildPackage, WARM_UP_SECONDS)
  await callsASecond(buildPeers, WARM_UP_SECONDS)
  const found = { ours: [], cpu: [], alone: [], peers: [], one: [], all: [] } as Record<string, number[]>
  for (const _ of rounds()) {
    const { rate, cpu } = await callsASecond(buildPackage)
    found.ours!.push(rate)
    found.cpu!.push(cpu)
    found.alone!.push((await callsASecond(signAlone)).cpu)
    found.peers!.push((await callsASecond(buildPeers)).rate)
    found.one!.push(await signaturesASecond({ seconds: SECONDS_A_ROUND }))
    found.all!.push(await signaturesASecond({ seconds: SECONDS_A_ROUND, processes: cores }))
  }
  const size = `${Math.round(archive.length / 1024)} KB`
  console.log(
    `${size}: ${spread(found.ours!)} passes/s with ${spread(found.cpu!, 2)} ms of CPU each, including ${spread(found.alone!, 2)} for the signature; ` +
      `passkit-generator ${spread(found.peers!, 1)}; openssl ${spread(found.one!)} signatures/s on one core, ${spread(found.all!)} on ${cores}`,
  )
  const ours = median(found.ours!)
  figure(`packages of ${size} to passkit-generator`, ours / median(found.peers!), { atLeast: targets.timesPeer }, 'x')
  // Skip larger packages, whose speed depends on hashing and copying their images.
  if (!boundBySigning) continue
  figure(
    `packages of ${size} to signatures of all cores`,
    ours / median(found.all!),
    { atLeast: targets.ofAllCores },
    'x',
  )
  // Compare the CPU time, because other programs on the machine slow down all cores but hardly affect this ratio.
  figure(
    `packages of ${size} by CPU to signatures of one core`,
    1000 / median(found.cpu!) / median(found.one!),
    { atLeast: targets.ofAllCores },
    'x',
  )
}

const variants = [
  { what: 'packages with a photo for each holder', passOf: (holder: number) => passOfHolder('120 KB', holder) },
  { what: 'packages in five languages', passOf: (holder: number) => passInLanguages('120 KB', holder) },
]
let holder = 0
for (const { what, passOf } of variants) {
  const cpu: number[] = []
  const ofCore: number[] = []
  async function build(): Promise<Buffer> {
    holder += 1
    const unsigned = await wallet.preparePackage(passOf(holder), at)
    return unsigned.complete(await wallet.signPackage(unsigned, at))
  }
  await callsASecond(build, WARM_UP_SECONDS)
  // Measure the signatures of a core before and after each round, because they vary from second to second on a shared
  // machine.
  let before = await signaturesASecond({ seconds: SECONDS_A_ROUND })
  for (const _ of rounds()) {
    const made = await callsASecond(build)
    const after = await signaturesASecond({ seconds: SECONDS_A_ROUND })
    cpu.push(made.cpu)
    ofCore.push(1000 / made.cpu / ((before + after) / 2))
    before = after
  }
  console.log(`${what}: ${spread(cpu, 2)} ms of CPU each, ${spread(ofCore, 2)} of what one core signs`)
  figure(`${what} by CPU to signatures of one core`, median(ofCore), { atLeast: targets.ofVariants }, 'x')
}

/**
 * Returns the calls per second, with the same number of calls in flight for all sides, and the CPU milliseconds of this
 * process per call.
 */
async function callsASecond(
  build: () => Promise<unknown>,
  forSeconds = SECONDS_A_ROUND,
): Promise<{ rate: number; cpu: number }> {
  const before = process.cpuUsage()
  const start = performance.now()
  let done = 0
  async function loop(): Promise<void> {
    while (performance.now() - start < forSeconds * 1000) {
      await build()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop))
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(before)
  return { rate: done / seconds, cpu: (user + system) / 1000 / done }
}
