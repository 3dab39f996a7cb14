import type { PageWords } from '../page-words.ts'

/** Turkish: see PageWords. */
export const turkish: PageWords = {
  addTo: '{wallet}’a ekle',
  share: 'Bu kartı {wallet}’a ekleyin.',
  or: '{wallet}’a veya {other}',
  sandbox: {
    all: 'SANDBOX – gerçek bir kart değil: hiçbir telefon kabul etmez',
    one: 'SANDBOX – {wallet}’ta gerçek bir kart değil: hiçbir {phone} kabul etmez',
  },
  androidPhone: 'Android telefon',
  validUntil: 'Son geçerlilik: {time}',
  addToCalendar: 'Takvime ekle',
  more: 'Bu kart hakkında daha fazlası',
  state: { ready: 'Hazır', preparing: 'Hazırlanıyor' },
  inApp: {
    title: 'Tarayıcınızda açın:',
    text: 'bu uygulama kart ekleyemeyebilir. Menüsüne bakın veya bağlantıyı kopyalayın.',
    address: 'Bu sayfanın bağlantısı',
    copy: 'Bağlantıyı kopyala',
    copied: 'Bağlantı kopyalandı.',
  },
  phone: {
    code: 'Bu sayfanın adresini içeren QR kodu',
    title: 'Telefonunuzda devam edin',
    text: 'Bu kodu telefonunuzun kamerasıyla tarayın.',
  },
  issuedBy: 'Düzenleyen: {organization}',
  reference: 'Referans: {reference}',
  problems: {
    revoked: {
      title: 'Bu bağlantı geri çekildi',
      what: 'Kartı düzenleyen bu bağlantıyı sonlandırdı; kart artık bununla eklenemez. Zaten bir cüzdanda olan kart etkilenmez.',
      advice: 'Karta hâlâ ihtiyacınız varsa gönderenden yeni bir bağlantı isteyin.',
    },
    void: {
      title: 'Bu kart iptal edildi',
      what: 'Kartı düzenleyen onu iptal etti; artık eklenemez ve kullanılamaz.',
      advice: 'Bunu beklemiyorduysanız gönderene sorun.',
    },
    failed: {
      title: 'Bu kart oluşturulamadı',
      what: 'Kart hazırlanırken bir sorun oluştu, bu yüzden henüz eklenecek bir şey yok. Sorun sizden kaynaklanmıyor.',
      advice: 'Bağlantıyı gönderene haber verin. Sorun giderilince aynı bağlantı çalışacaktır.',
    },
    expired: {
      title: 'Bu kartın süresi doldu',
      what: 'Bu kartın geçerlilik süresi sona erdi; artık eklenemez.',
      advice: 'Hâlâ geçerli olması gerektiğini düşünüyorsanız gönderene sorun.',
    },
    suspended: {
      title: 'Bu bağlantı şimdilik kapalı',
      what: 'Bu düzenleyenin kartları şu anda eklenemiyor. Zaten bir cüzdanda olan kart etkilenmez.',
      advice: 'Aynı bağlantıyı daha sonra deneyin veya gönderene sorun.',
    },
    linkExpired: {
      title: 'Bu bağlantının süresi doldu',
      what: 'Kart ekleme bağlantıları sınırlı bir süre çalışır ve bunun süresi doldu.',
      advice: 'Gönderenden yeni bir bağlantı isteyin.',
    },
    malformed: {
      title: 'Bu bağlantı eksik',
      what: 'Adresin bir bölümü eksik veya değişmiş; uzun bağlantılar mesajlarda bazen kesilir.',
      advice: 'Bağlantıyı mesajdan yeniden açın veya tamamını kopyalayın. Olmazsa yenisini isteyin.',
    },
    platform: {
      title: 'Bu cüzdan kullanılamıyor',
      what: 'Kart artık bu tür bir cüzdana eklenemez.',
      advice: 'Kartı başka bir yolla almak için bağlantıyı gönderene sorun.',
    },
    unknown: {
      title: 'Bu bağlantı geçerli değil',
      what: 'Hiçbir karta götürmüyor. Yanlış yazılmış veya yolda değişmiş olabilir.',
      advice: 'Bağlantıyı mesajdan yeniden açın. Olmazsa gönderenden yenisini isteyin.',
    },
    busy: {
      title: 'Aynı anda çok fazla ziyaret',
      what: 'Ağınızdan şu anda yanıtlanabilecek olandan fazla bağlantı açıldı.',
      advice: 'Birkaç saniye bekleyin, sonra bu sayfayı yeniden yükleyin.',
    },
    fault: {
      title: 'Kart şu anda gösterilemiyor',
      what: 'Bizim tarafımızda bir şey çalışmıyor. Bağlantınız ve kartınız etkilenmedi.',
      advice: 'Bu sayfayı bir dakika sonra yeniden yükleyin.',
    },
    refused: {
      title: 'Bu kart {wallet}’a eklenemiyor',
      what: '{wallet} onu bu haliyle kabul etmiyor. Sorun sizden kaynaklanmıyor ve yeniden denemek işe yaramaz.',
      advice: 'Bağlantıyı gönderene haber verin. Sorun giderilince aynı bağlantı çalışacaktır.',
    },
  },
}
