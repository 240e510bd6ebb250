"""The Digits benchmark in each layout it is accepted in."""

import numpy as np
import pytest
import torch

from prorandconv import ProRandConvError
from prorandconv.lab.data import DataError, get_benchmark


def stored(images):
    """uint8 (N, C, H, W) of a data set whose images have their final size."""
    return images.stacked(torch.arange(len(images)))


def as_tensor(images):
    tensor = torch.from_numpy(np.ascontiguousarray(images))
    return tensor[:, None] if tensor.ndim == 3 else tensor.permute(0, 3, 1, 2)


def read(root, domain, part="test"):
    return get_benchmark("digits", root).domain(domain).read(part)


LAYOUTS = {
    "mnist": ("mnist", lambda write, root: write.idx(root)["test"]),
    **{
        f"svhn in {place or 'the folder'}, whose ten means zero": (
            "svhn",
            lambda write, root, place=place: write.mat(root / place / "test_32x32.mat", zero=10),
        )
        for place in ("", "svhn", "SVHN")
    },
    "syn": ("syn", lambda write, root: write.mat(root / "synth_test_32x32.mat", zero=0)),
    "usps, rounded by torchvision": ("usps", lambda write, root: write.usps(root / "usps.t.bz2")),
    "mnist_m in the order of its list": ("mnist_m", lambda write, root: write.png_list(root)),
}


class TestLayouts:
    @pytest.mark.parametrize("case", LAYOUTS)
    def test_a_domain_is_read_as_it_is_published(self, tmp_path, write, case):
        domain, written = LAYOUTS[case]
        images, labels = written(write, tmp_path / "digits")
        found = read(tmp_path, domain)
        assert np.abs(found.images.astype(int) - images).max() <= (domain == "usps")
        np.testing.assert_array_equal(found.labels, labels)
        assert get_benchmark("digits", tmp_path).present() == (domain,)

    def test_both_parts_are_read(self, tmp_path, write):
        for name, count in (("train", 30), ("test", 12)):
            write.mat(tmp_path / "digits" / f"synth_{name}_32x32.mat", count=count, zero=0)
            assert len(read(tmp_path, "syn", name).labels) == count
        write.idx(tmp_path / "digits")
        assert len(read(tmp_path, "mnist", "train").labels) == 24

    @pytest.mark.parametrize("name", ["keras_mnistm.pkl", "keras_mnistm.pkl.gz"])
    @pytest.mark.parametrize("key", ["test", b"test"])
    @pytest.mark.parametrize("protocol", [2, 5])
    def test_mnist_m_set_b_is_read_from_a_pickle_with_mnists_labels(
        self, tmp_path, write, name, key, protocol
    ):
        labels = write.idx(tmp_path / "digits", test=12)["test"][1]
        images, _ = write.digits(12, (28, 28, 3))
        write.pickle(tmp_path / "digits" / name, {key: images}, protocol)
        found = read(tmp_path, "mnist_m_b")
        np.testing.assert_array_equal(found.images, images)
        np.testing.assert_array_equal(found.labels, labels)

    @pytest.mark.parametrize("name", ["usps_28x28.mat", "usps/usps_28x28.pkl"])
    def test_usps_at_28_pixels_is_an_extra_read_from_both_of_its_files(self, tmp_path, write, name):
        parts = write.usps_28(tmp_path / "digits" / name)
        for part, (images, labels) in parts.items():
            found = read(tmp_path, "usps_28", part)
            np.testing.assert_array_equal(found.images, images)
            np.testing.assert_array_equal(found.labels, labels)
        benchmark = get_benchmark("digits", tmp_path)
        assert (benchmark.present(), benchmark.domains[-1]) == (("usps_28",), "usps")

    @pytest.mark.parametrize(
        "domain",
        [
            "mnist",
            "svhn",
            "mnist_m",
            "syn",
            "usps",
            "mnist_m_b",
            "usps_28",
            "mnist_m_rebuilt",
            "syn_rendered",
        ],
    )
    @pytest.mark.parametrize("shape", [(16, 16), (20, 20, 1), (32, 32, 3)])
    def test_every_domain_is_read_from_npz(self, tmp_path, write, domain, shape):
        images, labels = write.digits(12, shape)
        write.npz(tmp_path / "digits" / f"{domain}.npz", x_test=images, y_test=labels)
        benchmark = get_benchmark("digits", tmp_path)
        assert benchmark.present() == (domain,)
        found = benchmark.domain(domain).read("test")
        np.testing.assert_array_equal(found.images, images.squeeze())
        ((batch, _),) = benchmark.load(domain, "test").batches(12)
        assert batch.shape == (12, 3, 32, 32)

    def test_the_root_may_be_the_benchmarks_own_folder(self, tmp_path, write):
        write.idx(tmp_path / "digits")
        assert get_benchmark("digits", tmp_path / "digits").present() == ("mnist",)


class TestSplits:
    def test_training_is_the_first_images_and_validation_the_last(self, tmp_path, write):
        images, labels = write.digits(12_000, (32, 32))
        write.npz(tmp_path / "digits" / "mnist.npz", x_train=images, y_train=labels)
        benchmark = get_benchmark("digits", tmp_path)
        train, val = benchmark.load("mnist", "train"), benchmark.load("mnist", "val")
        assert torch.equal(stored(train), as_tensor(images[:10_000]))
        assert torch.equal(stored(val), as_tensor(images[11_000:]))
        assert train.labels.tolist() == labels[:10_000].tolist()

    def test_other_sources_use_all_but_the_last_twelfth(self, tmp_path, write):
        images, labels = write.digits(120, (32, 32, 3))
        write.npz(tmp_path / "digits" / "svhn.npz", x_train=images, y_train=labels)
        benchmark = get_benchmark("digits", tmp_path)
        assert torch.equal(stored(benchmark.load("svhn", "train")), as_tensor(images[:110]))
        assert torch.equal(stored(benchmark.load("svhn", "val")), as_tensor(images[110:]))

    def test_fingerprint_tells_data_apart(self, tmp_path, write):
        images, labels = write.digits(12, (32, 32))
        prints = []
        for number, wrong in enumerate((0, 0, 1)):
            root = tmp_path / str(number)
            changed = labels.copy()
            changed[0] = wrong
            write.npz(root / "digits" / "usps.npz", x_test=images, y_test=changed)
            prints.append(get_benchmark("digits", root).load("usps", "test").fingerprint)
        assert prints[0] == prints[1] != prints[2]

    def test_sources_are_joined_in_order_grey_with_colour(self, tmp_path, write):
        grey, labels = write.digits(24, (32, 32))
        colour, others = write.digits(24, (32, 32, 3), seed=1)
        write.npz(tmp_path / "digits" / "mnist.npz", x_train=grey, y_train=labels)
        write.npz(tmp_path / "digits" / "svhn.npz", x_train=colour, y_train=others)
        benchmark = get_benchmark("digits", tmp_path)
        both = benchmark.load(["mnist", "svhn"], "train")
        assert len(both) == 44
        assert torch.equal(stored(both)[0], as_tensor(grey)[0].expand(3, 32, 32))
        assert torch.equal(stored(both)[22], as_tensor(colour)[0])
        assert both.fingerprint != benchmark.load(["svhn", "mnist"], "train").fingerprint


class TestBadInput:
    def test_a_missing_domain_is_named_with_what_was_looked_for(self, tmp_path):
        benchmark = get_benchmark("digits", tmp_path / "nowhere")
        assert benchmark.present() == ()
        assert benchmark.missing() == ("mnist", "svhn", "mnist_m", "syn", "usps")
        with pytest.raises(DataError, match=r"'svhn' is missing: looked for .*nowhere.*svhn\.npz"):
            benchmark.load("svhn", "test")

    def test_a_domain_without_training_images_says_so(self, tmp_path, write):
        images, labels = write.digits(12)
        write.npz(tmp_path / "digits" / "usps.npz", x_test=images, y_test=labels)
        with pytest.raises(DataError, match="'usps' has no train images"):
            get_benchmark("digits", tmp_path).load("usps", "train")

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda b: b.load("svnh", "test"), "domain: got 'svnh'.*did you mean 'svhn'"),
            (lambda b: b.load("svhn", "tests"), "split: got 'tests', expected one of train"),
            (lambda b: b.load([], "test"), "domains: got"),
            (lambda b: b.load(["mnist", "mnist"], "test"), "domains: got .* each domain once"),
            (lambda b: get_benchmark("digit"), "benchmark: got 'digit'.*did you mean 'digits'"),
        ],
    )
    def test_misspelt_names_get_the_nearest_right_one(self, tmp_path, call, message):
        with pytest.raises(ProRandConvError, match=message):
            call(get_benchmark("digits", tmp_path))


def test_only_parts_that_are_missing_in_every_layout_are_downloaded(tmp_path, write):
    images, labels = write.digits(12)
    write.npz(tmp_path / "digits" / "svhn.npz", x_test=images, y_test=labels)
    write.usps(tmp_path / "digits" / "usps" / "usps.bz2")
    write.idx(tmp_path / "digits")
    (tmp_path / "digits" / "MNIST" / "raw" / "t10k-labels-idx1-ubyte").unlink()
    found = get_benchmark("digits", tmp_path).missing_downloads()
    wanted = {("mnist", "test"), ("svhn", "train"), ("usps", "test")}
    assert {(one.domain, one.part) for one in found} == wanted


def test_what_torchvision_can_download_goes_where_it_is_looked_for(tmp_path):
    found = get_benchmark("digits", tmp_path).missing_downloads()
    assert [d.domain for d in found] == ["mnist"] * 4 + ["usps"] * 2 + ["svhn"] * 2
    assert all(len(d.md5) == 32 for d in found)
    for d in found:
        d.path.parent.mkdir(parents=True, exist_ok=True)
        d.path.touch()
    assert get_benchmark("digits", tmp_path).present() == ("mnist", "svhn", "usps")
    assert get_benchmark("digits", tmp_path).missing_downloads() == ()
    assert get_benchmark("pacs", tmp_path).missing_downloads() == ()


@pytest.mark.real_data
class TestRealData:
    def test_the_first_ten_thousand_training_images_are_the_source(self, real_root):
        benchmark = get_benchmark("digits", real_root)
        train = benchmark.load("mnist", "train")
        assert len(train) == 10_000
        assert train.labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
        assert torch.bincount(train.labels)[0] == 1001
        assert len(benchmark.load("mnist", "val")) == 5_000

    def test_mnist_m_shows_mnists_test_digits(self, real_root):
        benchmark = get_benchmark("digits", real_root)
        mnist, mnist_m = (benchmark.load(name, "test") for name in ("mnist", "mnist_m"))
        assert torch.equal(mnist.labels[:9001], mnist_m.labels)
