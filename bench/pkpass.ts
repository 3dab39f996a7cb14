/**
 * Signed passes a second, against passkit-generator with the same images and certificates, and against what one core
 * can sign at all (`openssl speed rsa2048`). Run: npx tsx bench/pkpass.ts. Exits 1 where a target is missed.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createBenchWallet, packages } from './pkpass-packages.ts'
import { createPeer } from './pkpass-peer.ts'
import { figure } from './support/figures.ts'

const IN_FLIGHT = 16
const ROUNDS = 3
const SECONDS_A_ROUND = 1
const targets = { timesPeer: 40, ofOneCore: 0.8 }

const at = new Date()
const { wallet, passOf, chain } = await createBenchWallet(at)
const peer = createPeer(chain)
for (const { name, boundBySigning } of packages) {
  const pass = passOf(name)
  const archive = await wallet.buildPackage(pass, at)
  const [ours, peers, oneCore] = await bestRates([
    () => callsASecond(() => wallet.buildPackage(pass, at)),
    () => callsASecond(peer.builderOf(archive)),
    signaturesOfOneCore,
  ])
  const size = `${Math.round(archive.length / 1024)} KB`
  const rates = [
    `${ours.toFixed(0)} passes/s`,
    `passkit-generator ${peers.toFixed(1)}`,
    `openssl ${oneCore.toFixed(0)}`,
  ]
  console.log(`${size}: ${rates.join(', ')} signatures/s`)
  figure(`packages of ${size} to passkit-generator`, ours / peers, { atLeast: targets.timesPeer }, 'x')
  // Larger packages are bound by hashing and copying their images.
  if (boundBySigning) {
    figure(`packages of ${size} to signatures of one core`, ours / oneCore, { atLeast: targets.ofOneCore }, 'x')
  }
}

/** The best of some rounds that take turns: what else runs on the machine slows a round, and nothing speeds it up. */
async function bestRates<T extends (() => Promise<number>)[]>(measures: [...T]): Promise<{ [K in keyof T]: number }> {
  const best = measures.map(() => 0)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [n, measure] of measures.entries()) best[n] = Math.max(best[n]!, await measure())
  }
  return best as { [K in keyof T]: number }
}

/** With the same number of calls in flight for both. */
async function callsASecond(build: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  let done = 0
  async function loop(): Promise<void> {
    while (performance.now() - start < SECONDS_A_ROUND * 1000) {
      await build()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop))
  return (done * 1000) / (performance.now() - start)
}

async function signaturesOfOneCore(): Promise<number> {
  const { stdout } = await promisify(execFile)('openssl', ['speed', '-seconds', String(SECONDS_A_ROUND), 'rsa2048'])
  const figures = /^rsa 2048 bits\s+\S+\s+\S+\s+([\d.]+)/m.exec(stdout)
  if (!figures) throw new Error(`openssl speed printed no figures for rsa 2048:\n${stdout}`)
  return Number(figures[1])
}
